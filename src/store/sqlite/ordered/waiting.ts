/** Waiting ids. The row of an id has its payload, or several payloads are in a table of their own. */

import { ORDERED_STEP, type ScoredPayload } from '../../contract.ts'
import { addInside, type Change, type WaitingRow } from '../../sql/ordered-rows.ts'
import { Tables } from '../file/database.ts'
import type { Value } from '../file/driver.ts'
import { sql } from '../sql.generated.ts'

/** The bound of all payloads of an id. */
const ALL: [score: number, text: string] = [Number.POSITIVE_INFINITY, '']

type Listed = [string, number, number, string, number, number, number, number, string, string | null, string | null]

export class WaitingTable extends Tables {
  find(queue: number, ids: readonly string[]): Map<string, WaitingRow> {
    const found = new Map<string, WaitingRow>()
    if (ids.length === 0) return found
    for (const row of this.db.list<Listed>(sql.waiting.find, queue, JSON.stringify(ids))) {
      const [id, shard, inFlight, due, retryCount, crashes, suspect, size, lowest, error, text] = row
      const performIn = Number(due)
      const score = text === null ? null : Number(lowest)
      found.set(id, { id, shard, inFlight, performIn, retryCount, crashes, suspect, size, score, error, text })
    }
    return found
  }

  /**
   * Adds rows without failures that have one payload each and are not in flight. Returns false, and changes nothing, if one of
   * the ids waits already.
   */
  enterNew(queue: number, rows: readonly WaitingRow[]): boolean {
    const ends = [rows[0], rows.at(-1)].map((row) => row?.id ?? null)
    // A push that repeats an id mostly repeats them all.
    if (this.db.first(sql.waiting.oneOf, queue, ...ends)) return false
    const values: Value[] = []
    for (const row of rows) addFreshValues(values, row)
    return this.#insertNew(sql.waiting.addFresh, [queue], 5, values)
  }

  enter(queue: number, rows: readonly WaitingRow[]): void {
    const plain: Value[] = []
    const others: Value[] = []
    for (const r of rows) {
      const isPlain =
        r.text !== null && r.retryCount === -1 && r.error === null && r.inFlight + r.crashes + r.suspect === 0
      if (isPlain) addFreshValues(plain, r)
      else others.push(...valuesOf(r))
    }
    this.db.insert(sql.waiting.addFresh, [queue], 5, plain)
    this.db.insert(sql.waiting.add, [queue], 11, others)
  }

  /** Stores rows of which only the payloads have changed; `before`: the number of payloads before. */
  grow(queue: number, rows: readonly (readonly [row: WaitingRow, before: number])[]): void {
    const more = new Map<number, string[]>()
    for (const [{ id, size, score, text }, before] of rows) {
      if (text !== null) {
        this.db.run(sql.waiting.lower, queue, id, score)
        continue
      }
      const same = more.get(size - before)
      if (same) same.push(id)
      else more.set(size - before, [id])
    }
    for (const [n, ids] of more) this.db.run(sql.waiting.grow, queue, n, JSON.stringify(ids))
  }

  change(queue: number, row: WaitingRow): void {
    this.db.run(sql.waiting.change, queue, ...valuesOf(row))
  }

  /** Deletes rows with their payloads. */
  remove(queue: number, rows: readonly WaitingRow[]): void {
    if (rows.length === 0) return
    this.db.run(sql.waiting.remove, queue, JSON.stringify(rows.map(({ id }) => id)))
    for (const { id, text } of rows) if (text === null) this.db.run(sql.payload.drop, queue, id, 0, ...ALL)
  }

  /**
   * Adds payloads to rows, which the caller then stores. A payload that is there keeps the smaller score. Payloads in their
   * table are stored at once.
   */
  add(queue: number, changes: readonly Change[]): void {
    const spread = changes.filter(([row, payloads]) => !addInside(row, payloads))
    if (spread.length > 1 && this.#addNew(queue, spread)) return
    for (const [row, payloads] of spread) this.#addTo(queue, row, payloads)
  }

  /** Adds all payloads with one statement. Returns false, and changes nothing, if one of them is there already. */
  #addNew(queue: number, changes: readonly Change[]): boolean {
    const values: Value[] = []
    for (const [{ id, score, text }, payloads] of changes) {
      if (text !== null) values.push(id, score, text)
      for (const [text, score] of payloads) values.push(id, score, text)
    }
    if (!this.#insertNew(sql.payload.add, [queue, 0], 3, values)) return false
    for (const [row, payloads] of changes)
      Object.assign(row, { size: row.size + payloads.length, score: null, text: null })
    return true
  }

  /** Inserts rows. Returns false, and changes nothing, if one of them is there already. */
  #insertNew(statement: string, shared: readonly Value[], width: number, values: readonly Value[]): boolean {
    this.db.run('SAVEPOINT ordered_add')
    const isNew = this.db.insert(statement, shared, width, values) * width === values.length
    if (!isNew) this.db.run('ROLLBACK TO ordered_add')
    this.db.run('RELEASE ordered_add')
    return isNew
  }

  #addTo(queue: number, row: WaitingRow, payloads: readonly ScoredPayload[]): void {
    this.#spread(queue, row)
    const added = this.#insert(queue, row.id, 0, payloads)
    row.size += added
    if (added === payloads.length) return
    for (const [text, score] of payloads) this.db.run(sql.payload.lower, queue, row.id, text, score)
  }

  /** Returns the lowest payloads of a row, in order. */
  lowest(queue: number, { id, text, score }: WaitingRow, n: number): ScoredPayload[] {
    if (text === null) return this.lowestPayloads(queue, id, n)
    return n > 0 ? [[text, score as number]] : []
  }

  /** Deletes the lowest payloads of a row, up to this one. */
  dropTo(queue: number, row: WaitingRow, n: number, [text, score]: ScoredPayload): void {
    this.db.run(sql.payload.drop, queue, row.id, 0, score, text)
    row.size -= n
  }

  /** Deletes one payload of a row; false: there is no such payload. `last` is not deleted: the caller deletes the row. */
  dropOne(queue: number, row: WaitingRow, payload: string): 'last' | boolean {
    if (row.text !== null) return row.text === payload && 'last'
    if (this.db.run(sql.payload.dropOne, queue, row.id, payload) === 0) return false
    row.size--
    return row.size === 0 ? 'last' : true
  }

  /** Deletes the lowest payloads of a row that are in their table, at most as many as one step may. */
  dropLowest(queue: number, row: WaitingRow, upTo = this.#bound(queue, row.id, 0)): void {
    row.size -= this.db.run(sql.payload.drop, queue, row.id, 0, ...upTo)
  }

  /** Moves the lowest payloads of a row to the dead ones, at most as many as one step may. */
  kill(queue: number, row: WaitingRow): void {
    this.#spread(queue, row)
    const upTo = this.#bound(queue, row.id, 0)
    this.db.run(sql.payload.kill, queue, row.id, ...upTo)
    this.dropLowest(queue, row, upTo)
  }

  /** Moves the lowest dead payloads of an id to a row, which the caller then stores, at most as many as one step may. */
  resurrect(queue: number, row: WaitingRow): void {
    this.#spread(queue, row)
    const upTo = this.#bound(queue, row.id, 1)
    row.size += this.db.first<{ n: number }>(sql.payload.countNew, queue, row.id, ...upTo)?.n ?? 0
    this.db.run(sql.payload.resurrect, queue, row.id, ...upTo)
    this.dropDead(queue, row.id, upTo)
  }

  /** Deletes the lowest dead payloads of an id, at most as many as one step may. */
  dropDead(queue: number, id: string, upTo = this.#bound(queue, id, 1)): void {
    this.db.run(sql.payload.drop, queue, id, 1, ...upTo)
  }

  /** Counts the dead payloads of an id: exactly up to ORDERED_STEP; a larger number only means that there are more. */
  deadSize(queue: number, id: string): number {
    return this.db.first<{ n: number }>(sql.payload.countDead, queue, id, ORDERED_STEP + 1)?.n ?? 0
  }

  /** Returns the last payload that one step may move; with fewer payloads, a bound behind all of them. */
  #bound(queue: number, id: string, dead: 0 | 1): [score: number, text: string] {
    const [last] = this.db.list<[string, string]>(sql.payload.at, queue, id, dead, ORDERED_STEP - 1)
    return last ? [Number(last[1]), last[0]] : ALL
  }

  /** Adds dead payloads. Those that are dead already keep their scores. */
  killPayloads(queue: number, id: string, payloads: readonly ScoredPayload[]): void {
    this.#insert(queue, id, 1, payloads)
  }

  /** Moves the payload of the row to the payloads' table. */
  #spread(queue: number, row: WaitingRow): void {
    if (row.text !== null) this.#insert(queue, row.id, 0, [[row.text, row.score as number]])
    row.text = null
    row.score = null
  }

  /** Adds payloads, and returns how many were not there yet. */
  #insert(queue: number, id: string, dead: 0 | 1, payloads: readonly ScoredPayload[]): number {
    const values = payloads.flatMap(([text, score]) => [id, score, text])
    return this.db.insert(sql.payload.add, [queue, dead], 3, values)
  }

  /** Returns the lowest waiting or dead payloads in the payloads' table, in order; -1: all of them. */
  lowestPayloads(queue: number, id: string, n: number, dead: 0 | 1 = 0): ScoredPayload[] {
    const rows = this.db.list<[string, string]>(sql.payload.lowest, queue, id, dead, n)
    return rows.map(([text, score]) => [text, Number(score)])
  }
}

/** Returns the values of a row in the order of the statements, from the id on. */
function valuesOf(r: WaitingRow): Value[] {
  const position = [r.id, r.shard, r.inFlight, r.performIn, r.retryCount]
  return [...position, r.crashes, r.suspect, r.size, r.score, r.error, r.text]
}

/** Appends the values of a row, in the order of the statement `addFresh`. */
function addFreshValues(values: Value[], { id, shard, performIn, score, text }: WaitingRow): void {
  values.push(id, shard, performIn, score, text)
}
