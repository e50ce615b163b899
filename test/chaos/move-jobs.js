// The app of the storm of moves: the jobs of chaosApp, unique and limited ones, and an ordered queue.
import { setTimeout as sleep } from 'node:timers/promises'
import { chaosApp } from './jobs.js'
import { defineOrdered, now } from './ordered-jobs.js'

const KEYS = 5

export function moveApp(url, folder) {
  const app = chaosApp(url, folder)
  const { hq, note, handler, define } = app
  let calls = 0
  /** Its runs are noted like those of an ordered id, because two must not run at a time in one store. */
  const limited = async (ctx, n, kind) => {
    const call = ++calls
    note(`begin limit-${call} ${url} ${now()} ${n}:0`)
    await sleep(2)
    await handler(ctx, n, kind).finally(() => note(`done limit-${call} ${url} ${now()}`))
  }
  return {
    ...app,
    Unique: define('Unique', { unique: { by: (n) => n % KEYS, onConflict: 'raise' } }),
    Limited: define('Limited', { limit: { concurrency: 1 } }, limited),
    Ordered: defineOrdered(hq, note, 'Ordered', { shards: 2, maxRetries: 1, poison: 29 }),
  }
}
