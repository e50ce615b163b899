import type { Outcome, Plugin } from '../worker/plugin.ts'

/** After these the job goes on, and so does its lock. */
const GOES_ON: ReadonlySet<Outcome['kind']> = new Set([
  'started',
  'retry',
  'snoozed',
  'paused',
  'released',
  'interrupted',
  'not-started',
  'rescued',
  'promoted',
  'requeued',
])

/** A job that has a lock frees it when it ends, in whatever way. */
export const lockedRuns: Plugin = {
  effects({ hk_lock: lock, jid }, { kind }) {
    if (typeof lock !== 'string' || GOES_ON.has(kind)) return undefined
    return [{ kind: 'release-lock', lock, holder: jid }]
  },
}
