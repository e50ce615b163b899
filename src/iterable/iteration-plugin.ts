/** How far an iterable job has come changes in the step that moves the job: a crash can't come between. */

import type { JobContext } from '../job/context.ts'
import type { Plugin } from '../worker/plugin.ts'
import type { Iteration } from './iteration.ts'

export const iterations: Plugin = {
  // Sidekiq's `cancel!` writes only to the saved iteration.
  cancelledByOthers: (ctx) => 'iteration' in ctx,
  effects({ jid }, { kind }, at, ctx?: JobContext & { iteration?: Iteration }) {
    // Also of one that was removed while it waited: who does that knows no more than its id.
    if (kind === 'cancelled') return [{ kind: 'iteration', jid, state: null }]
    const iteration = ctx?.iteration
    const state = iteration?.state
    if (!state || kind === 'started' || kind === 'not-started') return undefined
    if (kind !== 'done' && kind !== 'business-failure' && kind !== 'discarded')
      return [{ kind: 'iteration', jid, state }]
    const over = { kind: 'iteration', jid, state: null } as const
    // It has ended as it was told to.
    return iteration.cancelled ? [over, { kind: 'clear-cancellation', jid, at, dropped: false }] : [over]
  },
}
