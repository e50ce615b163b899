/** Ordered queues, their shards, and their ids that wait or are in flight, as the tables of SQLite and PostgreSQL have them. */

import type { OrderedState, ScoredPayload } from '../contract.ts'

export interface QueueRow {
  id: number
  shards: number
  from: number | null
  reshardAfter: string | null
  paused: number
  /** Grows with each change that waiting owners must see. */
  version: number
  morgue: number
}

export interface ShardRow {
  shard: number
  /** 0: no owner. */
  owner: number
  token: number
  busy: number
  fresh: number
  retries: number
  processed: number
  failed: number
  /** The number of the last fetch. */
  fetchNumber: number
  /** 1: a suspect is in flight. */
  alone: number
  /** When the next id is due, as its owner knows; in whole milliseconds, which JSON keeps exactly. */
  nextDue: number | null
}

/** Where an id waits. `inFlight`: 1 while the id is in flight as well. */
export interface WaitingPosition {
  shard: number
  inFlight: number
  performIn: number
  retryCount: number
}

export interface WaitingRow extends WaitingPosition {
  id: string
  crashes: number
  suspect: number
  /** The number of payloads; 0: none yet. */
  size: number
  /** The score of the payload in the row; null, like the text: the payloads are in their table. */
  score: number | null
  error: string | null
  text: string | null
}

/** A row, and payloads to add to it. */
export type Change = readonly [row: WaitingRow, payloads: readonly ScoredPayload[]]

/** Returns a new row without payloads. */
export function newRow(id: string, position: WaitingPosition): WaitingRow {
  return { id, ...position, crashes: 0, suspect: 0, size: 0, score: null, error: null, text: null }
}

/** Returns the row with its only payload. */
export function withPayload(row: WaitingRow, [text, score]: ScoredPayload): WaitingRow {
  return Object.assign(row, { size: 1, text, score })
}

/** Adds payloads within the row, if it has at most one payload then. Returns false if they need their table. */
export function addInside(row: WaitingRow, payloads: readonly ScoredPayload[]): boolean {
  const [first] = payloads
  if (!first) return true
  if (payloads.length > 1) return false
  const [text, score] = first
  if (row.size === 0) {
    withPayload(row, first)
    return true
  }
  if (row.text !== text) return false
  row.score = Math.min(row.score as number, score)
  return true
}

/** Converts seconds to whole milliseconds, within the safe integers. */
export function dueMs(performIn: number): number {
  const ms = Math.floor(performIn * 1000)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, ms))
}

/** Returns the channel on which waiting owners are notified. */
export function queueChannel(queue: string): string {
  return `ordered ${queue}`
}

export interface InFlight {
  id: string
  shard: number
  fetchNumber: number
  cancelled: boolean
  /** Whether the id has waiting payloads. */
  waits: boolean
  /** The state at the fetch, with which the id goes back; null: it was not read, or the id does not go back. */
  fetched: FetchedState | null
}

/** The state of an id at its fetch. */
export interface FetchedState extends OrderedState {
  crashes: number
  suspect: number
  payloads: ScoredPayload[]
}

/** Counts a crash of an id that was alone in flight; several ids become suspects. */
export function blame(flights: readonly InFlight[]): void {
  for (const { fetched } of flights) {
    if (!fetched) continue
    if (flights.length === 1) fetched.crashes++
    else fetched.suspect = 1
  }
}
