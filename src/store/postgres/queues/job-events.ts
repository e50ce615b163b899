/** The record of events of jobs. The events of one step are one row, so that a step inserts one row. */

import { setTimeout as pause } from 'node:timers/promises'
import {
  EVENT_LIFE_MS,
  type EventEntry,
  eventsAfter,
  firstEvent,
  type JobEventStore,
  KEPT_EVENTS,
  packEvents,
  RECORDING_SECONDS,
  type RecordEffect,
} from '../../contract.ts'
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { clockAhead } from './clock.ts'

/** Notified when events are recorded. */
const CHANNEL = ' events'
/** The least time between two reads of a waiting reader, in milliseconds. */
const READ_MS = 10
/** Old events are deleted each time this many new ones were added. */
const TRIM_EVERY = 1000

/** The recording, with one of its entries; without an entry if there is none. */
interface EventRow {
  newest: number
  ends: number
  last: number
  texts: string | null
}

export class PostgresJobEventStore extends PostgresArea implements JobEventStore {
  readonly record: JobEventStore['record'] = (keep, time) =>
    this.server.write(async (db) => {
      const now = time - (await clockAhead(db))
      const isNew = !(await hasRecording(db, now))
      if (isNew) await db.run(sql.jobEvent.deleteAll)
      const ends = now + RECORDING_SECONDS * 1000
      type Row = { newest: number; confirmed: number }
      const { newest, confirmed } = (await db.first<Row>(sql.jobEvent.start, now, ends, keep, KEPT_EVENTS)) as Row
      if (isNew) await db.run(sql.jobEvent.first, newest, now, `[${firstEvent()}]`)
      await db.run(sql.jobEvent.deleteOld, now - EVENT_LIFE_MS)
      return { newest, isConfirmed: confirmed === 1 }
    }, ANSWER_SECONDS)

  readonly confirm: JobEventStore['confirm'] = (now) =>
    this.server.write(
      async (db) => (await db.first<{ newest: number }>(sql.jobEvent.confirm, now))?.newest ?? null,
      ANSWER_SECONDS,
    )

  readonly isRecording: JobEventStore['isRecording'] = async (time) => {
    const ends = await this.server.runOne(endOf)
    if (ends > time || ends === 0) return ends > time
    return this.server.write(async (db) => {
      const now = time - (await clockAhead(db))
      if ((await db.run(sql.jobEvent.end, now)) > 0) await db.run(sql.jobEvent.deleteAll)
      return await hasRecording(db, now)
    }, ANSWER_SECONDS)
  }

  readonly append: JobEventStore['append'] = (records, now) =>
    this.server.write((db) => appendEvents(db, records, now), ANSWER_SECONDS)

  readonly read: JobEventStore['read'] = async (after, { limit, ms, signal, isLast }, now) => {
    let isFirst = true
    const read = async () => {
      // A busy store records events much more often than a reader should read.
      if (!isFirst) await pause(READ_MS)
      isFirst = false
      const rows = await this.server.runOne((db) => db.all<EventRow>(sql.jobEvent.read, after, limit + 1))
      const [{ ends, newest }] = rows as [EventRow]
      if (ends <= now() && ends <= now() - (await this.server.runOne((db) => clockAhead(db)))) return null
      const entries = rows.flatMap(({ last, texts }): EventEntry[] =>
        texts === null ? [] : [[last, JSON.parse(texts)]],
      )
      const wanted = eventsAfter(after, entries, newest, isLast)
      return wanted?.length === 0 ? undefined : wanted
    }
    const found = await this.server.readUntil([CHANNEL], ms, signal, read)
    return found === undefined ? [] : found
  }
}

/** Records events if there is a recording. */
export async function appendEvents(db: Database, records: readonly RecordEffect[], now: number): Promise<void> {
  const n = records.length
  if (n === 0) return
  type Row = { newest: number; keep: number }
  const row = await db.first<Row>(sql.jobEvent.append, n, now, `[${packEvents(records)}]`, Date.now())
  if (!row) return
  const { newest, keep } = row
  if (Math.floor(newest / TRIM_EVERY) > Math.floor((newest - n) / TRIM_EVERY))
    await db.run(sql.jobEvent.trim, newest - keep)
  db.notify(CHANNEL)
}

async function endOf(db: Database): Promise<number> {
  return ((await db.first(sql.jobEvent.state)) as { ends: number }).ends
}

async function hasRecording(db: Database, now: number): Promise<boolean> {
  return (await endOf(db)) > now
}
