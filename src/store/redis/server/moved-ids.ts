/** Ids of ordered queues in a page, as ordered-hold.lua writes them. */

import type { MovedId, ScoredPayload } from '../../contract.ts'

/** Reads what ordered-hold.lua has written about an id. */
export function readMovedId(text: string, dead: boolean): MovedId {
  const texts = JSON.parse(text) as string[]
  const [id = '', first, second, third, fourth, fifth = ''] = texts
  const flat = texts.slice(dead ? 4 : 6)
  const payloads = flat.flatMap((score, i): ScoredPayload[] =>
    i % 2 === 0 ? [[flat[i + 1] as string, Number(score)]] : [],
  )
  if (dead) {
    const about = { updatedAt: Number(first), deaths: Number(second), error: third ? JSON.parse(third) : null }
    return { id, payloads, waiting: null, dead: about }
  }
  const state = { performIn: Number(first), retryCount: Number(second), crashes: Number(third) }
  return {
    id,
    payloads,
    dead: null,
    waiting: { ...state, suspect: fourth === '1', error: fifth ? JSON.parse(fifth) : null },
  }
}
