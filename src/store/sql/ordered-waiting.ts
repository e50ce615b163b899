/** Ids that wait in ordered queues, as the tables of SQLite and PostgreSQL have them. */

import type { ScoredPayload } from '../contract.ts'

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
