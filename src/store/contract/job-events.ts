/**
 * The record of events of jobs, for readers in any process. Events are recorded while the store has a recording. Their
 * numbers grow by 1 within a recording; a later recording begins with a greater number, also after the store was emptied.
 * A recording begins with a random text as its first event, which nobody reads: with it a reader recognizes its recording.
 */

import { randomUUID } from 'node:crypto'
import type { RecordEffect } from './effects.ts'

/** A recording ends when it was not extended for this long, and its events are deleted. */
export const RECORDING_SECONDS = 3600
/** A recording keeps about this many of the newest events, unless `record` says otherwise. */
export const KEPT_EVENTS = 100_000
/** A recording keeps no event for longer than this. */
export const EVENT_LIFE_MS = 86_400_000

export interface RecordedEvent {
  number: number
  event: unknown
}

/** The events of one step as `packEvents` wrote them, with the number of the last of them. */
export type EventEntry = [newest: number, groups: readonly unknown[]]

/** Events of several jobs that differ only in their jids: how many, the jids with spaces, and the rest of each. */
type Group = [count: number, jids: string, about: readonly unknown[]]

/**
 * Returns events as JSON texts of groups, with commas. Events in a row that differ only in their jids are one group, because
 * to write and to store a text of its own for each costs more than the rest of its record.
 */
export function packEvents(records: readonly RecordEffect[]): string {
  const groups: string[] = []
  for (let i = 0; i < records.length; ) {
    const { jid, about } = records[i] as RecordEffect
    let jids = jid
    let end = i + 1
    if (!jid.includes(' ')) {
      for (; records[end]?.about === about && !records[end]?.jid.includes(' '); end++) jids += ` ${records[end]?.jid}`
    }
    groups.push(`[${end - i},${JSON.stringify(jids)},${about}]`)
    i = end
  }
  return groups.join()
}

/** Returns the events of groups. A group that can't be read has none: its events are missing, as after a trim. */
function unpacked(groups: readonly unknown[]): unknown[] {
  return groups.flatMap((group) => {
    if (isFirst(group)) return [group]
    if (!Array.isArray(group) || typeof group[0] !== 'number') return []
    const [count, jids, about] = group as Group
    return (count === 1 ? [jids] : jids.split(' ')).map((jid) => [jid, ...about])
  })
}

/** Returns the JSON text of the event with which a recording begins. */
export function firstEvent(): string {
  return JSON.stringify(randomUUID())
}

function isFirst(event: unknown): boolean {
  return typeof event === 'string'
}

export type IsLast = (event: unknown) => boolean

/**
 * Returns the events after a number; null when one of them is missing, or when the event with that number is not the one
 * that `isLast` recognizes. `newest` is that of the recording.
 */
export function eventsAfter(
  after: number,
  entries: readonly EventEntry[],
  newest: number,
  isLast?: IsLast,
): RecordedEvent[] | null {
  const all = entries.flatMap(([last, groups]) => {
    const events = unpacked(groups)
    return events.map((event, i) => ({ number: last - events.length + 1 + i, event }))
  })
  if (isLast && !all.some(({ number, event }) => number === after && isLast(event))) return null
  const wanted = all.filter(({ number }) => number > after)
  const isWhole =
    wanted.length === 0
      ? newest === after
      : wanted.every(({ number, event }, i) => number === after + 1 + i && !isFirst(event))
  return isWhole ? wanted : null
}

export interface JobEventStore {
  /**
   * The recordings of a sharded store, one for each shard, each with its own numbers. Then `read` throws: call that of
   * each recording.
   */
  readonly shards?: readonly JobEventStore[]
  /**
   * Starts a recording, or extends it to RECORDING_SECONDS from now on. `keep`: how many of the newest events it keeps
   * from now on; null: as before. Also deletes old events, except the newest.
   */
  record(keep: number | null, now: number): Promise<Recording>
  /** Marks the recording as known to all processes, and returns its newest number; null: it has ended. */
  confirm(now: number): Promise<number | null>
  /** Returns whether the store has a recording. The effect `record` has no effect without one. */
  isRecording(now: number): Promise<boolean>
  /** Records events at once, if the store has a recording. */
  append(records: readonly RecordEffect[], now: number): Promise<void>
  /**
   * Returns the events after a number, oldest first: about `limit`, at most `limit` if each was recorded on its own. Waits
   * for one at most `ms`, or until `signal` aborts. null: the next event is not kept any more, or the recording has ended, or
   * the event with that number is not the one that `isLast` recognizes: the store has lost data since the caller read it.
   */
  read(
    after: number,
    options: { limit: number; ms: number; signal: AbortSignal; isLast?: IsLast | undefined },
    now: () => number,
  ): Promise<RecordedEvent[] | null>
}

export interface Recording {
  /** The number of the newest event. */
  newest: number
  /** Whether the recording was confirmed. */
  isConfirmed: boolean
}
