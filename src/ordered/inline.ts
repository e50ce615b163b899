/** Runs pushed items of an ordered queue in this process, without a store. Tests use it. */

import type { OrderedPushed } from '../client/push-target.ts'
import { canonicalJson } from '../job/canonical.ts'
import type { FetchedBatch } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import { Batch } from './batch.ts'
import type { OrderedDefinition } from './definition.ts'

/** Runs all items at once, also those that are due later. @throws what the handler throws */
export async function runOrderedInline(
  engine: Engine,
  definition: OrderedDefinition,
  items: readonly OrderedPushed[],
): Promise<void> {
  const byId = new Map<string, Map<string, number>>()
  for (const { id, payload, score } of items) {
    const scores = byId.get(id) ?? new Map<string, number>()
    byId.set(id, scores)
    const text = canonicalJson(payload)
    scores.set(text, Math.min(score, scores.get(text) ?? score))
  }
  const fetched = [...byId].map(([id, scores], i): FetchedBatch => {
    const payloads = [...scores].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
    const state = { performIn: engine.now() / 1000, retryCount: -1, error: null }
    return { id, ticket: `here-${i}`, payloads, ...state, crashes: 0, suspect: false }
  })
  const { batchSize } = definition.options
  for (let from = 0; from < fetched.length; from += batchSize) {
    const ids = fetched.slice(from, from + batchSize)
    await new Batch(engine, definition, ids, { shard: 0, token: 0, slot: 0 }).runInline()
  }
}
