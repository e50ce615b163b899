import { jidsOf } from '../job/rows.ts'
import type { Plugin } from '../worker/plugin.ts'

/** The mark of a job that was cancelled goes in the step in which the job goes. */
export const cancelling: Plugin = {
  effects(payload, { kind }, at) {
    if (kind !== 'cancelled') return undefined
    return jidsOf(payload).map((jid) => ({ kind: 'clear-cancellation', jid, at, dropped: true }))
  },
}
