/** Ids that wait. The row of an id has its payload, or several payloads are in a table of their own. */

import type { ScoredPayload } from '../../contract.ts'
import { addInside, type Change, type WaitingRow } from '../../sql/ordered-rows.ts'
import { Tables, type Value } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { Growth } from './open-queue.ts'
import { PayloadTable } from './payloads.ts'

/** The columns of the statements that add rows and (without the text) of the one that changes them, in their order. */
const CHANGED_COLUMNS = [
  ...(['id', 'shard', 'inFlight', 'performIn', 'retryCount'] as const),
  ...(['crashes', 'suspect', 'size', 'score', 'error'] as const),
]
const COLUMNS = [...CHANGED_COLUMNS, 'text'] as const

export class WaitingTable extends Tables {
  readonly #payloads = this.db.get(PayloadTable)

  /** Returns those of the ids that wait, in the order of `ids`. */
  async find(queue: number, ids: readonly string[]): Promise<Map<string, WaitingRow>> {
    if (ids.length === 0) return new Map()
    const rows = await this.db.all<WaitingRow>(sql.waiting.find, queue, ids)
    return new Map(rows.map((row) => [row.id, row]))
  }

  async enter(queue: number, rows: readonly WaitingRow[]): Promise<void> {
    if (rows.length > 0) await this.db.run(sql.waiting.add, queue, ...columnsOf(rows))
  }

  /** Adds rows, with the growth of their shards. Returns whether one is due earlier than its owner knows. */
  async enterFresh(queue: number, rows: readonly WaitingRow[], growth: Growth): Promise<boolean> {
    if (rows.length === 0) return false
    type Row = { isEarlier: boolean }
    const grown = await this.db.all<Row>(sql.waiting.addFresh, queue, ...columnsOf(rows), ...growth)
    return grown.some(({ isEarlier }) => isEarlier)
  }

  /** Stores rows that are there. */
  async change(queue: number, rows: readonly WaitingRow[]): Promise<void> {
    if (rows.length === 0) return
    await this.db.run(sql.waiting.change, queue, ...CHANGED_COLUMNS.map((name) => rows.map((row) => row[name])))
  }

  /** Deletes rows with their payloads. */
  async remove(queue: number, rows: readonly WaitingRow[]): Promise<void> {
    await this.removeRows(queue, rows)
    await this.#payloads.drop(queue, idsOf(rows.filter(({ text }) => text === null)), 0)
  }

  /** Deletes rows that have no payloads in their table. */
  async removeRows(queue: number, rows: readonly WaitingRow[]): Promise<void> {
    if (rows.length > 0) await this.db.run(sql.waiting.remove, queue, idsOf(rows))
  }

  /**
   * Adds payloads to rows, which the caller then stores. A payload that is there keeps the smaller score. Payloads in their
   * table are stored at once.
   */
  async add(queue: number, changes: readonly Change[]): Promise<void> {
    const spread = changes.filter(([row, payloads]) => !addInside(row, payloads))
    if (spread.length === 0) return
    const payloads = spread.map(([{ id, text, score }, more]) => {
      return [id, text === null ? more : [[text, score] as ScoredPayload, ...more]] as const
    })
    const added = await this.#payloads.add(queue, 0, payloads)
    for (const [row] of spread) {
      const before = row.text === null ? row.size : 0
      Object.assign(row, { size: before + (added.get(row.id) ?? 0), score: null, text: null })
    }
  }

  /** Returns the lowest payloads of each row, in order: all of them, or at most `most`. */
  async lowest(queue: number, rows: readonly WaitingRow[], most: number | null): Promise<Map<string, ScoredPayload[]>> {
    const several = rows.filter(({ text }) => text === null && most !== 0)
    const lowest = await this.#payloads.lowest(
      queue,
      several.map(({ id }) => [id, most] as const),
      0,
    )
    for (const { id, text, score } of rows) {
      if (text !== null && most !== 0) lowest.set(id, [[text, score as number]])
    }
    return lowest
  }

  /** Deletes one payload of a row; false: there is no such payload. `last` is not deleted: the caller deletes the row. */
  async dropOne(queue: number, row: WaitingRow, payload: string): Promise<'last' | boolean> {
    if (row.text !== null) return row.text === payload && 'last'
    if ((await this.db.run(sql.payload.dropOne, queue, row.id, payload)) === 0) return false
    row.size--
    return row.size === 0 ? 'last' : true
  }

  /** Deletes the lowest payloads of a row that are in their table, as many as one step may. */
  async dropLowest(queue: number, row: WaitingRow): Promise<void> {
    row.size -= await this.#payloads.drop(queue, [row.id], 0, await this.#payloads.stepEnd(queue, row.id, 0))
  }

  /** Moves payloads of rows to the dead ones: all of them, or of one row as many as one step may. */
  async kill(queue: number, rows: readonly WaitingRow[], isPart: boolean): Promise<void> {
    const [single, several] = [rows.filter(({ text }) => text !== null), rows.filter(({ text }) => text === null)]
    const payloads = single.map(({ id, text, score }) => [id, [[text, score] as ScoredPayload]] as const)
    await this.#payloads.add(queue, 1, payloads)
    const end = isPart && several[0] ? await this.#payloads.stepEnd(queue, several[0].id, 0) : undefined
    const moved = await this.#payloads.move(queue, idsOf(several), 0, end)
    for (const row of several) row.size -= moved.get(row.id)?.moved ?? 0
  }

  /** Moves dead payloads to rows, which the caller then stores: all of them, or of one id as many as one step may. */
  async resurrect(queue: number, rows: readonly WaitingRow[], isPart: boolean): Promise<void> {
    const single = rows.filter(({ text }) => text !== null)
    const payloads = single.map(({ id, text, score }) => [id, [[text, score] as ScoredPayload]] as const)
    await this.#payloads.add(queue, 0, payloads)
    const end = isPart && rows[0] ? await this.#payloads.stepEnd(queue, rows[0].id, 1) : undefined
    const moved = await this.#payloads.move(queue, idsOf(rows), 1, end)
    for (const row of rows) {
      Object.assign(row, { size: row.size + (moved.get(row.id)?.added ?? 0), score: null, text: null })
    }
  }
}

function columnsOf(rows: readonly WaitingRow[]): Value[] {
  return COLUMNS.map((name) => rows.map((row) => row[name]))
}

function idsOf(rows: readonly WaitingRow[]): string[] {
  return rows.map(({ id }) => id)
}
