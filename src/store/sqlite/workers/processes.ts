/** The list of processes, their running jobs, and the signals that are sent to them. */

import type { BeatAnswer, ProcessRecord, RunningJob, Signal } from '../../contract.ts'
import { bootId, isPast, monotonicNow } from '../file/clock.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

type ProcessRow = Omit<ProcessRecord, 'quiet'> & { quiet: number; boot: string; ends: number }

type RunningRow = Omit<RunningJob, 'progress'> & {
  identity: string
  progress: string | null
  boot: string
  ends: number
}

/** The most seconds for which a process is listed without a heartbeat. */
const MAX_SECONDS = 3600

const alive = (row: { boot: string; ends: number }) => !isPast(row.ends, row.boot, MAX_SECONDS)

export class Processes extends Tables {
  heartbeat(p: ProcessRecord, seconds: number, running: readonly RunningJob[] = []): BeatAnswer {
    const ends = monotonicNow() + Math.round(seconds * 1000)
    const { identity, info, concurrency, busy, beat, quiet, rss } = p
    const known = this.#isAlive(identity)
    this.db.run(sql.process.heartbeat, identity, info, concurrency, busy, beat, quiet ? 1 : 0, rss, bootId, ends)
    this.db.run(sql.process.deleteDead, bootId, monotonicNow())
    this.db.run(sql.process.dropSignals)
    this.db.run(sql.process.dropRunning)
    this.db.run(sql.process.deleteRunning, identity)
    const rows = running.map(({ slot, queue, text, startedAt, progress = null }) => [
      slot,
      queue,
      text.toWellFormed(),
      startedAt,
      progress,
    ])
    if (rows.length > 0) this.db.run(sql.process.addRunning, identity, JSON.stringify(rows))
    const signal = this.db.first<{ name: Signal }>(sql.process.receive, identity)?.name ?? null
    return { signal, known, rtt: null }
  }

  list(): ProcessRecord[] {
    return this.db
      .all<ProcessRow>(sql.process.processes)
      .filter(alive)
      .map(({ quiet, boot, ends, ...process }) => ({ ...process, quiet: quiet === 1 }))
  }

  running(): (RunningJob & { identity: string })[] {
    return this.db
      .all<RunningRow>(sql.process.running)
      .filter(alive)
      .map(({ progress, boot, ends, ...job }) => (progress === null ? job : { ...job, progress: JSON.parse(progress) }))
  }

  remove(identity: string): void {
    this.db.run(sql.process.deleteRunning, identity)
    this.db.run(sql.process.delete, identity)
    this.db.run(sql.process.deleteSignals, identity)
  }

  signal(identity: string, signal: Signal): boolean {
    if (!this.#isAlive(identity)) return false
    this.db.run(sql.process.send, identity, signal)
    return true
  }

  #isAlive(identity: string): boolean {
    const row = this.db.first<{ boot: string; ends: number }>(sql.process.process, identity)
    return row !== undefined && alive(row)
  }
}
