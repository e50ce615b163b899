/** Queries of an ordered queue. */

import type { OrderedCounts, OrderedPage, ShardAssignments, OrderedWaiting as Waiting } from '../../contract.ts'
import type { WaitingRow } from '../../sql/ordered-rows.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import type { OpenQueue } from './open-queue.ts'
import { behind, idFrom } from './page-bounds.ts'
import { WaitingTable } from './waiting.ts'

/** shard, owner, token, fresh, retries, busy, processed, failed, when the first id is due. */
type ShardColumns = [number, string | null, number, number, number, number, number, number, string | null]
/** performIn, id. */
type Position = [number, string]

export class OrderedQueries extends Tables {
  readonly #waiting = this.db.get(WaitingTable)

  assignments(open: OpenQueue): ShardAssignments {
    const { shards, from, paused } = open.queue
    return {
      shards,
      from,
      paused: paused === 1,
      members: this.db.list(sql.ordered.members, open.id),
      owners: this.#shards(open).map(([shard, owner, token]) => ({ shard, owner, token })),
    }
  }

  counts(open: OpenQueue, now: number): OrderedCounts {
    return {
      name: open.name,
      paused: open.queue.paused === 1,
      shards: this.#shards(open).map(([shard, owner, , fresh, retries, busy, processed, failed, next]) => {
        const lag = next === null ? 0 : Math.max(0, now / 1000 - Number(next))
        return { shard, owner, length: fresh + retries, fresh, retries, busy, processed, failed, lag }
      }),
      morgueLength: open.queue.morgue,
    }
  }

  waiting(open: OpenQueue, by: 'id' | 'performIn' | 'retryCount', page: OrderedPage & { payloads: number }): Waiting[] {
    if (page.limit <= 0) return []
    const ids =
      by === 'id'
        ? this.#byId(open, page, Number.MAX_SAFE_INTEGER)
        : by === 'performIn'
          ? this.#byTime(open, page)
          : this.#byRetry(open, page)
    const rows = this.#waiting.find(open.id, ids)
    return ids.flatMap((id) => {
      const row = rows.get(id)
      return row ? [this.#recordOf(open, row, page.payloads)] : []
    })
  }

  find(open: OpenQueue, id: string): Waiting | null {
    const row = this.#waiting.find(open.id, [id]).get(id)
    return row ? this.#recordOf(open, row, -1) : null
  }

  #shards(open: OpenQueue): ShardColumns[] {
    return this.db.list(sql.ordered.shards, open.id, open.width)
  }

  /** Returns ids with fewer retries than `below`. */
  #byId(open: OpenQueue, { desc = false, after, limit }: OrderedPage, below: number): string[] {
    return this.db.list(desc ? sql.waiting.idDown : sql.waiting.idUp, open.id, idFrom(desc, after?.id), below, limit)
  }

  /** Reads a page of each shard and all ids in flight, and returns the first of them. */
  #byTime(open: OpenQueue, { desc = false, after, limit }: OrderedPage): string[] {
    const start = behind(desc, after)
    const sign = desc ? -1 : 1
    const isBehind = (position: Position) => !after || sign * compare(position, [after.value, after.id]) > 0
    const positions = this.db.list<[string, string]>(sql.waiting.inFlight, open.id).map(positionOf).filter(isBehind)
    for (let shard = 0; shard < open.width; shard++) {
      const statement = desc ? sql.waiting.dueDown : sql.waiting.dueUp
      positions.push(...this.db.list<[string, string]>(statement, open.id, shard, ...start, limit).map(positionOf))
    }
    positions.sort((a, b) => sign * compare(a, b))
    return positions.slice(0, limit).map(([, id]) => id)
  }

  /** Failed ids have an index of their own. The others are mostly many, and are read by id. */
  #byRetry(open: OpenQueue, { desc = false, after, limit }: OrderedPage): string[] {
    const ids: string[] = []
    const failed = () => {
      const start = after && after.value >= 0 ? behind(desc, after) : behind(desc, undefined)
      const statement = desc ? sql.waiting.retryDown : sql.waiting.retryUp
      ids.push(...this.db.list<string>(statement, open.id, ...start, limit - ids.length))
    }
    const fresh = () => {
      const from = after?.value === -1 ? { after } : {}
      ids.push(...this.#byId(open, { desc, ...from, limit: limit - ids.length }, 0))
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

  #recordOf(open: OpenQueue, row: WaitingRow, payloads: number): Waiting {
    const { id, shard, performIn, retryCount, error, size } = row
    const most = payloads < 0 ? size : payloads
    return { id, shard, performIn, retryCount, error, size, payloads: this.#waiting.lowest(open.id, row, most) }
  }
}

function positionOf([performIn, id]: [string, string]): Position {
  return [Number(performIn), id]
}

function compare([a, one]: Position, [b, other]: Position): number {
  return a - b || Buffer.compare(Buffer.from(one), Buffer.from(other))
}
