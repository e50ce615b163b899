/** Saves the progress of an iterable job in the step that moves the job, so that no crash can come between. */

import type { JobContext } from '../job/context.ts'
import type { Plugin } from '../worker/plugin.ts'
import type { Iteration } from './iteration.ts'

export const iterations: Plugin = {
  // Sidekiq's `cancel!` writes only to the saved iteration.
  cancelledByOthers: (ctx) => 'iteration' in ctx,
  effects({ jid }, { kind }, at, ctx?: JobContext & { iteration?: Iteration }) {
    // This also holds for a job that was removed while it waited: then only its id is known.
    if (kind === 'cancelled') return [{ kind: 'iteration', jid, state: null }]
    const iteration = ctx?.iteration
    const state = iteration?.state
    if (!state || kind === 'started' || kind === 'not-started') return undefined
    if (kind !== 'done' && kind !== 'business-failure' && kind !== 'discarded')
      return [{ kind: 'iteration', jid, state }]
    const over = { kind: 'iteration', jid, state: null } as const
    // The job has ended because of its cancellation, so the cancellation is cleared.
    return iteration.cancelled ? [over, { kind: 'clear-cancellation', jid, at, dropped: false }] : [over]
  },
}
