import type { Outcome, Plugin } from '../worker/plugin.ts'

/** After these outcomes the job runs again or continues, and keeps its lock. */
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

/** Releases the lock of a job in the step that ends the job. */
export const lockedRuns: Plugin = {
  effects({ hk_lock: lock, jid }, { kind }) {
    if (typeof lock !== 'string' || GOES_ON.has(kind)) return undefined
    return [{ kind: 'release-lock', lock, holder: jid }]
  },
}
