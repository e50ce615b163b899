/** Queues that nobody takes from, and jobs that must not run (any more). */

import {
  CANCELLATION_LIFE_MS,
  CANCELLATIONS_PAGE,
  type CancellationEffect,
  type CancellationState,
  DROPPED_LIFE_MS,
  MAX_CANCELLATIONS,
} from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

/** Counting them takes time: it is done once in so many. */
const COUNT_EVERY = 100

export class Marks {
  readonly #db: Database
  readonly #rung: Set<string>

  /** `rung` collects the names of queues that may have jobs again, for whoever waits. */
  constructor(db: Database, rung: Set<string>) {
    this.#db = db
    this.#rung = rung
  }

  pause(queue: string, on: boolean): void {
    this.#db.run(on ? sql.mark.pause : sql.mark.resume, queue)
    if (!on) this.#rung.add(queue)
  }

  paused(): string[] {
    return this.#db.all<{ queue: string }>(sql.mark.paused).map(({ queue }) => queue)
  }

  set(jid: string, now: number): void {
    this.#db.run(sql.mark.old, now - CANCELLATION_LIFE_MS, now - DROPPED_LIFE_MS)
    if (this.#version(jid) > 0) return
    const { version } = this.#db.first<{ version: number }>(sql.mark.next, now) as { version: number }
    this.#db.run(sql.mark.set, jid, version)
    if (version % COUNT_EVERY === 0) this.#db.run(sql.mark.excess, MAX_CANCELLATIONS)
  }

  unset(jid: string): CancellationState {
    const version = this.#version(jid)
    if (version > 0) this.#db.run(sql.mark.unset, jid)
    return version > 0 ? 'requested' : version < 0 ? 'dropped' : 'none'
  }

  /** In the step in which its job comes to its end. */
  end({ jid, at, dropped }: CancellationEffect): void {
    if (this.#version(jid) <= 0) return
    if (dropped) this.#db.run(sql.mark.set, jid, -at)
    else this.#db.run(sql.mark.unset, jid)
  }

  among(jids: readonly string[]): string[] {
    return this.#db.all<{ jid: string }>(sql.mark.among, JSON.stringify(jids)).map(({ jid }) => jid)
  }

  newest(): number {
    return this.#db.first<{ version: number }>(sql.mark.newest)?.version ?? 0
  }

  since(since: number): { version: number; jids: string[] } {
    const rows = this.#db.all<{ jid: string; version: number }>(sql.mark.since, since, CANCELLATIONS_PAGE)
    const last = rows.length === CANCELLATIONS_PAGE ? rows.at(-1) : undefined
    return { version: last?.version ?? this.newest(), jids: rows.map(({ jid }) => jid) }
  }

  /** 0: there is no mark; below: its job was found and dropped. */
  #version(jid: string): number {
    return this.#db.first<{ version: number }>(sql.mark.version, jid)?.version ?? 0
  }
}
