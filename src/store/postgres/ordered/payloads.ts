/** The payloads of ids that have several, and the dead ones. An id has each text once among both. */

import { ORDERED_STEP, type ScoredPayload } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

/** Whether payloads wait or are in the morgue. */
export type Dead = 0 | 1

/** A payload up to which payloads are moved or deleted, that one included. */
export type PayloadEnd = readonly [score: number, text: string]

/** The end of all payloads of an id. */
const ALL: PayloadEnd = [Number.POSITIVE_INFINITY, '']

interface PayloadRow {
  id: string
  score: number
  text: string
}

export class PayloadTable extends Tables {
  /**
   * Adds payloads of ids, and returns how many of each id are new. A waiting payload that is there keeps the smaller score, a
   * dead one the score that it has.
   */
  async add(
    queue: number,
    dead: Dead,
    payloads: readonly (readonly [id: string, payloads: readonly ScoredPayload[]])[],
  ): Promise<Map<string, number>> {
    const rows = payloads.flatMap(([id, some]) => merged(some).map(([text, score]) => ({ id, score, text })))
    if (rows.length === 0) return new Map()
    const columns = (['id', 'score', 'text'] as const).map((name) => rows.map((row) => row[name]))
    const added = await this.db.all<{ id: string; n: number }>(sql.payload.add, queue, dead, ...columns)
    return new Map(added.map(({ id, n }) => [id, n]))
  }

  /** Moves payloads of ids, `from` the waiting or the dead ones to the others, and returns how many, and how many are new there. */
  async move(
    queue: number,
    ids: readonly string[],
    from: Dead,
    end: PayloadEnd = ALL,
  ): Promise<Map<string, { moved: number; added: number }>> {
    if (ids.length === 0) return new Map()
    type Moved = { id: string; moved: number; added: number }
    const rows = await this.db.all<Moved>(sql.payload.move, queue, ids, from, ...end)
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Returns the lowest payloads of each id, in order; null: all of them. */
  async lowest(
    queue: number,
    asked: readonly (readonly [id: string, most: number | null])[],
    dead: Dead,
  ): Promise<Map<string, ScoredPayload[]>> {
    if (asked.length === 0) return new Map()
    const columns = [asked.map(([id]) => id), asked.map(([, most]) => most)]
    return byId(await this.db.all<PayloadRow>(sql.payload.lowest, queue, ...columns, dead))
  }

  /** Deletes the lowest waiting payloads of each id, and returns them in order. */
  async drain(
    queue: number,
    asked: readonly (readonly [id: string, most: number])[],
  ): Promise<Map<string, ScoredPayload[]>> {
    if (asked.length === 0) return new Map()
    const columns = [asked.map(([id]) => id), asked.map(([, most]) => most)]
    return byId(await this.db.all<PayloadRow>(sql.payload.drain, queue, ...columns))
  }

  /** Returns the bytes of the lowest waiting payloads of each id, in order. */
  async sizes(queue: number, ids: readonly string[], most: number): Promise<Map<string, number[]>> {
    if (ids.length === 0) return new Map()
    const rows = await this.db.all<{ id: string; sizes: number[] }>(sql.payload.sizes, queue, ids, most)
    return new Map(rows.map(({ id, sizes }) => [id, sizes]))
  }

  /** Counts the dead payloads of each id: exactly up to ORDERED_STEP; a larger number only means that there are more. */
  async deadSizes(queue: number, ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const rows = await this.db.all<{ id: string; n: number }>(sql.payload.countDead, queue, ids, ORDERED_STEP + 1)
    return new Map(rows.map(({ id, n }) => [id, n]))
  }

  /** Deletes payloads of ids, and returns how many. */
  async drop(queue: number, ids: readonly string[], dead: Dead, end: PayloadEnd = ALL): Promise<number> {
    return ids.length === 0 ? 0 : await this.db.run(sql.payload.drop, queue, ids, dead, ...end)
  }

  /** Returns the last payload of an id that one step may move; with fewer payloads, an end behind all of them. */
  async stepEnd(queue: number, id: string, dead: Dead): Promise<PayloadEnd> {
    const last = await this.db.first<PayloadRow>(sql.payload.at, queue, id, dead, ORDERED_STEP - 1)
    return last ? [last.score, last.text] : ALL
  }
}

/** Returns payloads each once, with the smallest score. */
function merged(payloads: readonly ScoredPayload[]): readonly ScoredPayload[] {
  if (payloads.length === 1) return payloads
  const scores = new Map<string, number>()
  for (const [text, score] of payloads) scores.set(text, Math.min(score, scores.get(text) ?? score))
  return [...scores]
}

function byId(rows: readonly PayloadRow[]): Map<string, ScoredPayload[]> {
  const found = new Map<string, ScoredPayload[]>()
  for (const { id, score, text } of rows) {
    const there = found.get(id)
    if (there) there.push([text, score])
    else found.set(id, [[text, score]])
  }
  return found
}
