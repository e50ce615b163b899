/** Actions of people on waiting and dead ids. */

import { ORDERED_PAGE, ORDERED_STEP, shardOf } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable } from './in-flight.ts'
import { inOneStep, type Step } from './limits.ts'
import { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { newRow, type WaitingRow, WaitingTable } from './waiting.ts'

export class OrderedActions extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #flights = this.db.get(InFlightTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** Kills ids; `begun` holds the ids of which an earlier step has killed a part. */
  act(
    open: OpenQueue,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed = false, error, now }: { failed?: boolean; error?: string; now: number },
    begun: ReadonlySet<string>,
  ): Step {
    const found = [...this.#waiting.find(open.id, ids.slice(0, ORDERED_PAGE)).values()]
    const rows = failed ? found.filter(({ retryCount }) => retryCount >= 0) : found
    if (act === 'now') {
      for (const row of rows) {
        if (row.performIn <= now / 1000) continue
        row.performIn = now / 1000
        this.#waiting.change(open.id, row)
        if (!row.inFlight) open.dueAt(open.changeShard(row.shard), row.performIn)
      }
      return { n: rows.length, rest: [] }
    }
    const { some, rest } = inOneStep(rows, ({ size }) => size)
    const [large] = rest
    if (some.length === 0 && large) {
      if (act === 'kill') this.#morgue.enterSome(open, large, error ?? large.error, now, begun.has(large.id))
      else this.#waiting.dropSome(open.id, large)
      this.#waiting.change(open.id, large)
      return { n: 0, rest: rest.map(({ id }) => id), begun: large.id }
    }
    for (const row of some) {
      open.removeWaiting(row)
      if (act === 'kill') this.#morgue.enterAll(open, row, error ?? row.error, now, begun.has(row.id))
    }
    this.#waiting.remove(open.id, some)
    return { n: some.length, rest: rest.map(({ id }) => id) }
  }

  deletePayload(open: OpenQueue, id: string, payload: string): boolean {
    const row = this.#waiting.find(open.id, [id]).get(id)
    const dropped = row && this.#waiting.dropOne(open.id, row, payload)
    if (!dropped) return false
    if (dropped === 'last') {
      open.removeWaiting(row)
      this.#waiting.remove(open.id, [row])
    } else {
      this.#waiting.change(open.id, row)
    }
    return true
  }

  /** Moves dead ids back to the waiting ones, merged. */
  resurrect(open: OpenQueue, ids: readonly string[], now: number): Step {
    const dead = [...new Set(ids)].filter((id) => this.#morgue.reason(open.id, id) !== undefined)
    const { some, rest } = inOneStep(dead, (id) => this.#waiting.deadSize(open.id, id))
    const [large] = rest
    if (some.length === 0 && large !== undefined) {
      this.#moveBack(open, [large], now, (row) => this.#waiting.resurrectSome(open.id, row))
      return { n: 0, rest }
    }
    this.#moveBack(open, some, now, (row) => this.#waiting.resurrect(open.id, row))
    return { n: this.#morgue.delete(open, some).n, rest }
  }

  /** Puts dead ids back into the queue; `add` moves their payloads. */
  #moveBack(open: OpenQueue, ids: readonly string[], now: number, add: (row: WaitingRow) => void): void {
    const inFlight = this.#flights.among(open.id, ids)
    const waiting = this.#waiting.find(open.id, ids)
    for (const id of ids) {
      const there = waiting.get(id)
      if (there) open.removeWaiting(there)
      const position = { shard: shardOf(id, open.queue.shards), inFlight: inFlight.has(id) ? 1 : 0 }
      const row = there ?? newRow(id, { ...position, performIn: 0, retryCount: -1 })
      add(row)
      const error = this.#morgue.reason(open.id, id)?.error ?? null
      Object.assign(row, { performIn: now / 1000, retryCount: -1, error })
      if (there) this.#waiting.change(open.id, row)
      else this.#waiting.enter(open.id, [row])
      if (row.inFlight) this.#flights.noteWaiting(open.id, [row])
      open.addWaiting(row)
    }
  }

  /**
   * Deletes a part of an id with very many payloads, if these ids include one.
   * @returns whether they did
   */
  cancelSome(open: OpenQueue, ids: readonly string[]): boolean {
    const large = [...this.#waiting.find(open.id, ids).values()].find(({ size }) => size > ORDERED_STEP)
    if (!large) return false
    this.#waiting.dropSome(open.id, large)
    this.#waiting.change(open.id, large)
    return true
  }

  cancel(open: OpenQueue, ids: readonly string[]): ('removed' | 'signalled' | 'not-found')[] {
    const inFlight = this.#flights.among(open.id, ids)
    const rows = this.#waiting.find(open.id, ids)
    for (const row of rows.values()) open.removeWaiting(row)
    this.#waiting.remove(open.id, [...rows.values()])
    if (inFlight.size > 0) {
      this.db.run(sql.inFlight.cancel, open.id, JSON.stringify([...inFlight]))
      open.notify()
    }
    return ids.map((id) => {
      if (inFlight.has(id)) return 'signalled'
      // An id that is named twice was removed once.
      return rows.delete(id) ? 'removed' : 'not-found'
    })
  }
}
