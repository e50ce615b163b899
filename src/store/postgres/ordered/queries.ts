/** Queries of an ordered queue. */

import type { OrderedCounts, OrderedPage, ShardAssignments, OrderedWaiting as Waiting } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { OpenQueue } from './open-queue.ts'
import { behind, behindId } from './page-bounds.ts'
import { WaitingTable } from './waiting.ts'

interface AssignmentRow {
  shard: number
  /** null: no owner with a lease. */
  owner: string | null
  token: number
  fresh: number
  retries: number
  busy: number
  processed: number
  failed: number
  /** When the first id is due. */
  next: number | null
}

type Position = Pick<Waiting, 'performIn' | 'id'>

export class OrderedQueries extends Tables {
  readonly #waiting = this.db.get(WaitingTable)

  async assignments(open: OpenQueue): Promise<ShardAssignments> {
    const { shards, from, paused } = open.queue
    const members = await this.db.all<{ name: string }>(sql.ordered.members, open.id)
    const owners = await this.#shards(open)
    return {
      shards,
      from,
      paused: paused === 1,
      members: members.map(({ name }) => name),
      owners: owners.map(({ shard, owner, token }) => ({ shard, owner, token })),
    }
  }

  async counts(open: OpenQueue, now: number): Promise<OrderedCounts> {
    const shards = await this.#shards(open)
    return {
      name: open.name,
      paused: open.queue.paused === 1,
      shards: shards.map(({ token: _, next, ...shard }) => {
        const lag = next === null ? 0 : Math.max(0, now / 1000 - next)
        return { ...shard, length: shard.fresh + shard.retries, lag }
      }),
      morgueLength: open.queue.morgue,
    }
  }

  async waiting(
    open: OpenQueue,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage & { payloads: number },
  ): Promise<Waiting[]> {
    if (page.limit <= 0) return []
    const ids =
      by === 'id'
        ? await this.#byId(open, page, Number.MAX_SAFE_INTEGER)
        : by === 'performIn'
          ? await this.#byTime(open, page)
          : await this.#byRetry(open, page)
    return await this.#records(open, ids, page.payloads)
  }

  async find(open: OpenQueue, id: string): Promise<Waiting | null> {
    return (await this.#records(open, [id], null))[0] ?? null
  }

  #shards(open: OpenQueue): Promise<AssignmentRow[]> {
    return this.db.all(sql.ordered.shards, open.id, open.width)
  }

  /** Returns ids with fewer retries than `below`. */
  async #byId(open: OpenQueue, { desc = false, after, limit }: OrderedPage, below: number): Promise<string[]> {
    const bound = behindId(open.id, desc, after?.id)
    return await this.#ids(desc ? sql.waiting.idDown : sql.waiting.idUp, open.id, ...bound, below, limit)
  }

  /** Reads a page of each shard and all ids in flight, and returns the first of them. */
  async #byTime(open: OpenQueue, { desc = false, after, limit }: OrderedPage): Promise<string[]> {
    const sign = desc ? -1 : 1
    const isBehind = (position: Position) =>
      !after || sign * compare(position, { performIn: after.value, id: after.id }) > 0
    const inFlight = await this.db.all<Position>(sql.waiting.inFlight, open.id)
    const statement = desc ? sql.waiting.dueDown : sql.waiting.dueUp
    const ready = await this.db.all<Position>(statement, open.id, open.width, ...behind(desc, after), limit)
    const positions = [...inFlight.filter(isBehind), ...ready].sort((a, b) => sign * compare(a, b))
    return positions.slice(0, limit).map(({ id }) => id)
  }

  /** Failed ids have an index of their own. The others are mostly many, and are read by id. */
  async #byRetry(open: OpenQueue, { desc = false, after, limit }: OrderedPage): Promise<string[]> {
    const ids: string[] = []
    const failed = async () => {
      const bound = behind(desc, after && after.value >= 0 ? after : undefined)
      const statement = desc ? sql.waiting.retryDown : sql.waiting.retryUp
      ids.push(...(await this.#ids(statement, open.id, ...bound, limit - ids.length)))
    }
    const fresh = async () => {
      const from = after?.value === -1 ? { after } : {}
      ids.push(...(await this.#byId(open, { desc, ...from, limit: limit - ids.length }, 0)))
    }
    if (desc) {
      if (!after || after.value >= 0) await failed()
      if (ids.length < limit && (!after || after.value >= -1)) await fresh()
    } else {
      if (!after || after.value <= -1) await fresh()
      if (ids.length < limit) await failed()
    }
    return ids
  }

  async #ids(statement: string, ...values: (number | string)[]): Promise<string[]> {
    return (await this.db.all<{ id: string }>(statement, ...values)).map(({ id }) => id)
  }

  /** Returns those of the ids that wait, with at most `most` payloads each, or with all when `most` is null. */
  async #records(open: OpenQueue, ids: readonly string[], most: number | null): Promise<Waiting[]> {
    const rows = [...(await this.#waiting.find(open.id, ids)).values()]
    const payloads = await this.#waiting.lowest(open.id, rows, most)
    return rows.map(({ id, shard, performIn, retryCount, error, size }) => {
      return { id, shard, performIn, retryCount, error, size, payloads: payloads.get(id) ?? [] }
    })
  }
}

function compare(a: Position, b: Position): number {
  return a.performIn - b.performIn || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))
}
