/** Which processes there are, as they show themselves, and the signals that wait for them. */

import type { BeatAnswer, ProcessRecord, RunningJob, Signal } from '../contract.ts'
import { bootId, isPast, monotonicNow } from './clock.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

type ProcessRow = Omit<ProcessRecord, 'quiet'> & { quiet: number; boot: string; ends: number }

type RunningRow = Omit<RunningJob, 'progress'> & {
  identity: string
  progress: string | null
  boot: string
  ends: number
}

/** No process is shown for longer than this without a beat. */
const MAX_SECONDS = 3600

const alive = (row: { boot: string; ends: number }) => !isPast(row.ends, row.boot, MAX_SECONDS)

export class Processes {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  beat(p: ProcessRecord, seconds: number, running: readonly RunningJob[] = []): BeatAnswer {
    const ends = monotonicNow() + Math.round(seconds * 1000)
    const { identity, info, concurrency, busy, beat, quiet, rss } = p
    const known = this.#isShown(identity)
    this.#db.run(sql.look.beat, identity, info, concurrency, busy, beat, quiet ? 1 : 0, rss, bootId, ends)
    this.#db.run(sql.look.forgetDead, bootId, monotonicNow())
    this.#db.run(sql.look.dropSignals)
    this.#db.run(sql.look.dropRunning)
    this.#db.run(sql.look.forgetRunning, identity)
    const rows = running.map(({ slot, queue, text, startedAt, progress = null }) => [
      slot,
      queue,
      text.toWellFormed(),
      startedAt,
      progress,
    ])
    if (rows.length > 0) this.#db.run(sql.look.showRunning, identity, JSON.stringify(rows))
    const signal = this.#db.first<{ name: Signal }>(sql.look.receive, identity)?.name ?? null
    return { signal, known, rtt: null }
  }

  list(): ProcessRecord[] {
    return this.#db
      .all<ProcessRow>(sql.look.processes)
      .filter(alive)
      .map(({ identity, info, concurrency, busy, beat, quiet, rss }) => ({
        identity,
        info,
        concurrency,
        busy,
        beat,
        quiet: quiet === 1,
        rss,
      }))
  }

  running(): (RunningJob & { identity: string })[] {
    return this.#db
      .all<RunningRow>(sql.look.running)
      .filter(alive)
      .map(({ identity, slot, queue, text, startedAt, progress }) => {
        const job = { identity, slot, queue, text, startedAt }
        return progress === null ? job : { ...job, progress: JSON.parse(progress) }
      })
  }

  forget(identity: string): void {
    this.#db.run(sql.look.forgetRunning, identity)
    this.#db.run(sql.look.forget, identity)
    this.#db.run(sql.look.forgetSignals, identity)
  }

  signal(identity: string, signal: Signal): boolean {
    if (!this.#isShown(identity)) return false
    this.#db.run(sql.look.send, identity, signal)
    return true
  }

  #isShown(identity: string): boolean {
    const row = this.#db.first<{ boot: string; ends: number }>(sql.look.process, identity)
    return row !== undefined && alive(row)
  }
}
