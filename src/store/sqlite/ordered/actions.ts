/** Actions of people on waiting and dead ids. */

import { ORDERED_PAGE, ORDERED_STEP, shardOf } from '../../contract.ts'
import { newRow } from '../../sql/ordered-rows.ts'
import { inOneStep, type Step } from '../../sql/ordered-steps.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable } from './in-flight.ts'
import { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { WaitingTable } from './waiting.ts'

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
    const { some, rest, isPart } = inOneStep(rows, ({ size }) => size)
    for (const row of some) {
      if (act === 'kill') this.#morgue.move(open, row, error ?? row.error, now, begun.has(row.id))
      else if (isPart) this.#waiting.dropLowest(open.id, row)
      if (isPart) this.#waiting.change(open.id, row)
      else open.removeWaiting(row)
    }
    const left = rest.map(({ id }) => id)
    if (isPart) return { n: 0, rest: left, begun: left[0] as string }
    this.#waiting.remove(open.id, some)
    return { n: some.length, rest: left }
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
    const { some, rest, isPart } = inOneStep(dead, (id) => this.#waiting.deadSize(open.id, id))
    this.#moveBack(open, some, now)
    return isPart ? { n: 0, rest } : { n: this.#morgue.delete(open, some).n, rest }
  }

  /** Puts dead ids back into the queue, each with as many payloads as one step may move. */
  #moveBack(open: OpenQueue, ids: readonly string[], now: number): void {
    const inFlight = this.#flights.among(open.id, ids)
    const waiting = this.#waiting.find(open.id, ids)
    for (const id of ids) {
      const there = waiting.get(id)
      if (there) open.removeWaiting(there)
      const position = { shard: shardOf(id, open.queue.shards), inFlight: inFlight.has(id) ? 1 : 0 }
      const row = there ?? newRow(id, { ...position, performIn: 0, retryCount: -1 })
      this.#waiting.resurrect(open.id, row)
      const error = this.#morgue.reason(open.id, id)?.error ?? null
      Object.assign(row, { performIn: now / 1000, retryCount: -1, error })
      if (there) this.#waiting.change(open.id, row)
      else this.#waiting.enter(open.id, [row])
      if (row.inFlight) this.#flights.noteWaiting(open.id, [row])
      open.addWaiting(row)
    }
  }

  /** Returns null when only a part of an id with very many payloads was deleted: call it again. */
  cancel(open: OpenQueue, ids: readonly string[]): ('removed' | 'signalled' | 'not-found')[] | null {
    const inFlight = this.#flights.among(open.id, ids)
    const rows = this.#waiting.find(open.id, ids)
    const large = [...rows.values()].find(({ size }) => size > ORDERED_STEP)
    if (large) {
      this.#waiting.dropLowest(open.id, large)
      this.#waiting.change(open.id, large)
      return null
    }
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
