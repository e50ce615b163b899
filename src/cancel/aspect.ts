import type { Aspect } from '../worker/aspect.ts'

/** The mark of a job that was cancelled goes in the step in which the job goes. */
export const cancelling: Aspect = {
  effects({ jid }, { kind }, at) {
    return kind === 'cancelled' ? [{ kind: 'unmark', jid, at, dropped: true }] : undefined
  },
}
