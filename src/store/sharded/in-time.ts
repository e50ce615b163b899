/** Waits for the answers of several shards, but not for long for those that do not answer. */

import { answeredWithin } from './reachability.ts'

/** How long a call of several shards waits for late ones after another one has answered. */
export const LATE_MS = 250

/**
 * Resolves with the outcomes of calls: of all, or of those that are known LATE_MS after the first one has succeeded.
 * The outcome of a late call is undefined.
 */
export function outcomesInTime<T>(calls: readonly Promise<T>[]): Promise<(PromiseSettledResult<T> | undefined)[]> {
  return outcomesUntil(
    calls,
    Promise.any(calls).catch(() => undefined),
  )
}

/** Resolves with the outcomes of calls: of all, or of those that are known LATE_MS after `over` has resolved. */
export async function outcomesUntil<T>(
  calls: readonly Promise<T>[],
  over: Promise<unknown>,
): Promise<(PromiseSettledResult<T> | undefined)[]> {
  const outcomes: (PromiseSettledResult<T> | undefined)[] = calls.map(() => undefined)
  const all = Promise.all(
    calls.map(async (call, i) => {
      ;[outcomes[i]] = await Promise.allSettled([call])
    }),
  )
  await Promise.race([all, over])
  await answeredWithin(LATE_MS, all)
  return [...outcomes]
}
