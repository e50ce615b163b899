import { jidsOf } from '../job/rows.ts'
import type { Plugin } from '../worker/plugin.ts'

/** Withdraws the cancellation of a job in the step that deletes the job. */
export const cancelling: Plugin = {
  effects(payload, { kind }, at) {
    if (kind !== 'cancelled') return undefined
    return jidsOf(payload).map((jid) => ({ kind: 'clear-cancellation', jid, at, dropped: true }))
  },
}
