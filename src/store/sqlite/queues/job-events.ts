/** The record of events of jobs. The events of one step are one row, so that a step inserts one row. */

import { setTimeout as pause } from 'node:timers/promises'
import {
  EVENT_LIFE_MS,
  eventsAfter,
  firstEvent,
  type JobEventStore,
  KEPT_EVENTS,
  packEvents,
  RECORDING_SECONDS,
  type RecordEffect,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'

/** Notified when events are recorded. */
const CHANNEL = ' events'
/** The least time between two reads of a waiting reader, in milliseconds. */
const READ_MS = 10
/** Old events are deleted each time this many new ones were added. */
const TRIM_EVERY = 1000

export class SqliteJobEventStore extends SqliteArea implements JobEventStore {
  readonly record: JobEventStore['record'] = (keep, now) =>
    this.file.write((db) => {
      const isNew = !hasRecording(db, now)
      if (isNew) db.run(sql.jobEvent.deleteAll)
      const ends = now + RECORDING_SECONDS * 1000
      type Row = { newest: number; confirmed: number }
      const { newest, confirmed } = db.first<Row>(sql.jobEvent.start, now, ends, keep, KEPT_EVENTS) as Row
      if (isNew) db.run(sql.jobEvent.add, newest, now, `[${firstEvent()}]`)
      db.run(sql.jobEvent.deleteOld, now - EVENT_LIFE_MS)
      return { newest, isConfirmed: confirmed === 1 }
    }, ANSWER_SECONDS)

  readonly confirm: JobEventStore['confirm'] = (now) =>
    this.file.write((db) => db.first<{ newest: number }>(sql.jobEvent.confirm, now)?.newest ?? null, ANSWER_SECONDS)

  readonly isRecording: JobEventStore['isRecording'] = async (now) => {
    const ends = await this.file.read(endOf)
    if (ends > now || ends === 0) return ends > now
    return this.file.write((db) => {
      if (db.run(sql.jobEvent.end, now) > 0) db.run(sql.jobEvent.deleteAll)
      return hasRecording(db, now)
    }, ANSWER_SECONDS)
  }

  readonly append: JobEventStore['append'] = (records, now) =>
    this.file.write((db) => appendEvents(db, records, now), ANSWER_SECONDS)

  readonly read: JobEventStore['read'] = async (after, { limit, ms, signal, isLast }, now) => {
    const end = performance.now() + ms
    for (;;) {
      type Row = { newest: number; ends: number; entries: string }
      const row = await this.file.read((db) => db.first<Row>(sql.jobEvent.read, after, limit + 1) as Row)
      if (row.ends <= now()) return null
      const wanted = eventsAfter(after, JSON.parse(row.entries), row.newest, isLast)
      if (!wanted) return null
      const left = end - performance.now()
      if (wanted.length > 0 || left <= 0 || this.file.isClosed || signal.aborted) return wanted
      await this.file.wait([CHANNEL], left, signal)
      // A write of another process wakes all waiters, so they must not read after each of its writes.
      await pause(READ_MS)
    }
  }
}

/** Records events if there is a recording. */
export function appendEvents(db: Database, records: readonly RecordEffect[], now: number): void {
  const n = records.length
  const row = n > 0 ? db.first<{ newest: number; keep: number }>(sql.jobEvent.grow, n, now) : undefined
  if (!row) return
  const { newest, keep } = row
  db.run(sql.jobEvent.add, newest, now, `[${packEvents(records)}]`)
  if (Math.floor(newest / TRIM_EVERY) > Math.floor((newest - n) / TRIM_EVERY)) db.run(sql.jobEvent.trim, newest - keep)
  db.notify(CHANNEL)
}

function endOf(db: Database): number {
  return (db.first(sql.jobEvent.state) as { ends: number }).ends
}

function hasRecording(db: Database, now: number): boolean {
  return endOf(db) > now
}
