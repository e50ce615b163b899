/** Keeps the dead set within its limits. */

import type { AppPort } from '../app/port.ts'
import type { BatchEffect } from '../store/contract.ts'
import { effectsOf } from './actions.ts'

/** The most members of batches that one call of the store changes. */
const PAGE = 500

/** Prunes the dead set after a job was killed. */
export function trimDead(app: AppPort): Promise<void> {
  return pruneDead(app, app.settings.limits)
}

/**
 * Removes the oldest dead jobs beyond the limits, and then ends them in their batches. If the process dies in between, the
 * maintenance of batches finds the missing jobs.
 */
export async function pruneDead(
  app: Pick<AppPort, 'store' | 'now' | 'effects'>,
  { dead, deadSeconds }: Pick<AppPort['settings']['limits'], 'dead' | 'deadSeconds'>,
): Promise<void> {
  const { store, now } = app
  const removed = await store.jobSets.prune('dead', dead, now() / 1000 - deadSeconds, '"bid"')
  const effects = removed.flatMap((text) => effectsOf(app, text, { kind: 'deleted' }).effects ?? [])
  const ofBatches = effects.filter((effect): effect is BatchEffect => effect.kind === 'batch')
  for (let from = 0; from < ofBatches.length; from += PAGE) {
    await store.batches.apply(ofBatches.slice(from, from + PAGE), now())
  }
}
