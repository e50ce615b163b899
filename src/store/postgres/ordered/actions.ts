/** Actions of people on waiting and dead ids. */

import { ORDERED_PAGE, ORDERED_STEP, shardOf } from '../../contract.ts'
import { newRow, type WaitingRow } from '../../sql/ordered-rows.ts'
import { inOneStep, type Step } from '../../sql/ordered-steps.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable } from './in-flight.ts'
import { type DeadRow, MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { PayloadTable } from './payloads.ts'
import { WaitingTable } from './waiting.ts'

export class OrderedActions extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #payloads = this.db.get(PayloadTable)
  readonly #flights = this.db.get(InFlightTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** Kills ids; `begun` holds the ids of which an earlier step has killed a part. */
  async act(
    open: OpenQueue,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed = false, error, now }: { failed?: boolean; error?: string; now: number },
    begun: ReadonlySet<string>,
  ): Promise<Step> {
    const found = [...(await this.#waiting.find(open.id, ids.slice(0, ORDERED_PAGE))).values()]
    const rows = failed ? found.filter(({ retryCount }) => retryCount >= 0) : found
    if (act === 'now') {
      await this.#runNow(open, rows, now / 1000)
      return { n: rows.length, rest: [] }
    }
    const { some, rest, isPart } = inOneStep(rows, ({ size }) => size)
    if (act === 'kill') {
      await this.#waiting.kill(open.id, some, isPart)
      const deaths = some.map((row) => ({ id: row.id, error: error ?? row.error }))
      await this.#morgue.count(
        open,
        deaths.filter(({ id }) => !begun.has(id)),
        now,
      )
    }
    const left = rest.map(({ id }) => id)
    if (isPart) {
      const [row] = some as [WaitingRow]
      if (act === 'delete') await this.#waiting.dropLowest(open.id, row)
      await this.#waiting.change(open.id, [row])
      return { n: 0, rest: left, begun: row.id }
    }
    await open.removeWaiting(some)
    await this.#waiting.remove(open.id, some)
    return { n: some.length, rest: left }
  }

  /** Makes ids due. */
  async #runNow(open: OpenQueue, rows: readonly WaitingRow[], now: number): Promise<void> {
    const later = rows.filter(({ performIn }) => performIn > now)
    for (const row of later) row.performIn = now
    await this.#waiting.change(open.id, later)
    const ready = later.filter(({ inFlight }) => !inFlight)
    await open.readShards(ready.map(({ shard }) => shard))
    for (const { shard } of ready) open.dueAt(await open.changeShard(shard), now)
  }

  async deletePayload(open: OpenQueue, id: string, payload: string): Promise<boolean> {
    const row = (await this.#waiting.find(open.id, [id])).get(id)
    const dropped = row && (await this.#waiting.dropOne(open.id, row, payload))
    if (!dropped) return false
    if (dropped === 'last') {
      await open.removeWaiting([row])
      await this.#waiting.remove(open.id, [row])
    } else {
      await this.#waiting.change(open.id, [row])
    }
    return true
  }

  /** Moves dead ids back to the waiting ones, merged. */
  async resurrect(open: OpenQueue, ids: readonly string[], now: number): Promise<Step> {
    const heads = await this.#morgue.heads(open.id, ids)
    const dead = [...new Set(ids)].filter((id) => heads.has(id))
    const sizes = await this.#payloads.deadSizes(open.id, dead)
    const { some, rest, isPart } = inOneStep(dead, (id) => sizes.get(id) ?? 0)
    await this.#moveBack(open, some, heads, now, isPart)
    return isPart ? { n: 0, rest } : { n: (await this.#morgue.delete(open, some)).n, rest }
  }

  /** Puts dead ids back into the queue: all of their payloads, or of one id as many as one step may move. */
  async #moveBack(
    open: OpenQueue,
    ids: readonly string[],
    heads: ReadonlyMap<string, DeadRow>,
    now: number,
    isPart: boolean,
  ): Promise<void> {
    const inFlight = await this.#flights.among(open.id, ids)
    const waiting = await this.#waiting.find(open.id, ids)
    const there = [...waiting.values()]
    await open.removeWaiting(there)
    const fresh = ids
      .filter((id) => !waiting.has(id))
      .map((id) => {
        const position = { shard: shardOf(id, open.queue.shards), inFlight: inFlight.has(id) ? 1 : 0 }
        return newRow(id, { ...position, performIn: 0, retryCount: -1 })
      })
    const rows = [...there, ...fresh]
    await this.#waiting.resurrect(open.id, rows, isPart)
    for (const row of rows) {
      Object.assign(row, { performIn: now / 1000, retryCount: -1, error: heads.get(row.id)?.error ?? null })
    }
    await this.#waiting.change(open.id, there)
    await this.#waiting.enter(open.id, fresh)
    await this.#flights.noteWaiting(
      open.id,
      rows.filter((row) => row.inFlight),
    )
    await open.addWaiting(rows)
  }

  /** Returns null when only a part of an id with very many payloads was deleted: call it again. */
  async cancel(open: OpenQueue, ids: readonly string[]): Promise<('removed' | 'signalled' | 'not-found')[] | null> {
    const inFlight = await this.#flights.among(open.id, ids)
    const rows = await this.#waiting.find(open.id, ids)
    const large = [...rows.values()].find(({ size }) => size > ORDERED_STEP)
    if (large) {
      await this.#waiting.dropLowest(open.id, large)
      await this.#waiting.change(open.id, [large])
      return null
    }
    await open.removeWaiting([...rows.values()])
    await this.#waiting.remove(open.id, [...rows.values()])
    if (inFlight.size > 0) {
      await this.db.run(sql.inFlight.cancel, open.id, [...inFlight])
      open.notify()
    }
    return ids.map((id) => {
      if (inFlight.has(id)) return 'signalled'
      // An id that is named twice was removed once.
      return rows.delete(id) ? 'removed' : 'not-found'
    })
  }
}
