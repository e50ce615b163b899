/** What is told of an ordered queue. */

import type { OrderedCounts, OrderedPage, ShardAssignments, OrderedWaiting as Waiting } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { OrderedBook } from './book.ts'
import { behind, idFrom } from './page.ts'
import type { OrderedWaiting, WaitingRow } from './waiting.ts'

/** performIn, id. */
type Place = [number, string]

export class OrderedLook {
  readonly #db: Database
  readonly #waiting: OrderedWaiting

  constructor(db: Database, waiting: OrderedWaiting) {
    this.#db = db
    this.#waiting = waiting
  }

  board(book: OrderedBook): ShardAssignments {
    const { shards, from, paused } = book.queue
    const rows = this.#db.list<[number, string | null, number]>(sql.ordered.board, book.id, book.width)
    return {
      shards,
      from,
      paused: paused === 1,
      members: this.#db.list(sql.ordered.members, book.id),
      owners: rows.map(([shard, owner, token]) => ({ shard, owner, token })),
    }
  }

  numbers(book: OrderedBook, now: number): OrderedCounts {
    type Row = [number, string | null, number, number, number, number, number, string, number]
    const rows = this.#db.list<Row>(sql.ordered.numbers, book.id, book.width)
    return {
      name: book.name,
      paused: book.queue.paused === 1,
      shards: rows.map(([shard, owner, fresh, retries, busy, processed, failed, next, isEmpty]) => {
        const lag = isEmpty ? 0 : Math.max(0, now / 1000 - Number(next))
        return { shard, owner, length: fresh + retries, fresh, retries, busy, processed, failed, lag }
      }),
      morgueLength: book.queue.morgue,
    }
  }

  waiting(
    book: OrderedBook,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage & { payloads: number },
  ): Waiting[] {
    if (page.limit <= 0) return []
    const ids =
      by === 'id' ? this.#byId(book, page) : by === 'performIn' ? this.#byTime(book, page) : this.#byRetry(book, page)
    const rows = this.#waiting.find(book.id, ids)
    return ids.flatMap((id) => {
      const row = rows.get(id)
      return row ? [this.#told(book, row, page.payloads)] : []
    })
  }

  find(book: OrderedBook, id: string): Waiting | null {
    const row = this.#waiting.find(book.id, [id]).get(id)
    return row ? this.#told(book, row, -1) : null
  }

  #byId(book: OrderedBook, { desc = false, after, limit }: OrderedPage): string[] {
    return this.#db.list(desc ? sql.waiting.idDown : sql.waiting.idUp, book.id, idFrom(desc, after?.id), limit)
  }

  /** Of each shard a page, and what is in no shard because it is held; the first of them all. */
  #byTime(book: OrderedBook, { desc = false, after, limit }: OrderedPage): string[] {
    const start = behind(desc, after)
    const sign = desc ? -1 : 1
    const isBehind = (place: Place) => !after || sign * compare(place, [after.value, after.id]) > 0
    const places = this.#db.list<[string, string]>(sql.waiting.held, book.id).map(placeOf).filter(isBehind)
    for (let shard = 0; shard < book.width; shard++) {
      const statement = desc ? sql.waiting.dueDown : sql.waiting.dueUp
      places.push(...this.#db.list<[string, string]>(statement, book.id, shard, ...start, limit).map(placeOf))
    }
    places.sort((a, b) => sign * compare(a, b))
    return places.slice(0, limit).map(([, id]) => id)
  }

  /** Those that failed have an index of their own; the fresh ones are all others, and mostly there are many. */
  #byRetry(book: OrderedBook, { desc = false, after, limit }: OrderedPage): string[] {
    const ids: string[] = []
    const failed = () => {
      const start = after && after.value >= 0 ? behind(desc, after) : behind(desc, undefined)
      const statement = desc ? sql.waiting.retryDown : sql.waiting.retryUp
      ids.push(...this.#db.list<string>(statement, book.id, ...start, limit - ids.length))
    }
    const fresh = () => {
      const id = after?.value === -1 ? after.id : undefined
      const statement = desc ? sql.waiting.freshDown : sql.waiting.freshUp
      ids.push(...this.#db.list<string>(statement, book.id, idFrom(desc, id), limit - ids.length))
    }
    if (desc) {
      if (!after || after.value >= 0) failed()
      if (ids.length < limit && (!after || after.value >= -1)) fresh()
    } else {
      if (!after || after.value <= -1) fresh()
      if (ids.length < limit) failed()
    }
    return ids
  }

  #told(book: OrderedBook, row: WaitingRow, payloads: number): Waiting {
    const { id, shard, performIn, retryCount, error, size } = row
    const most = payloads < 0 ? size : payloads
    return { id, shard, performIn, retryCount, error, size, payloads: this.#waiting.lowest(book.id, row, most) }
  }
}

function placeOf([performIn, id]: [string, string]): Place {
  return [Number(performIn), id]
}

function compare([a, one]: Place, [b, other]: Place): number {
  return a - b || Buffer.compare(Buffer.from(one), Buffer.from(other))
}
