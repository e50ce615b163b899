/** The producers of a task as the tables of SQLite and PostgreSQL have them, and the rows that they add. */

import type { AddAnswer, NewRow, TaskProducer } from '../contract.ts'
import { BROKEN, ENDED } from './task-row.ts'

export interface Producer {
  name: string
  cursor: number
  state: number
  retry: number
}

export interface Chunk {
  producer: string
  from: number
  rows: readonly NewRow[]
  now: number
  /** The text that the task keeps about the last of the rows. */
  last: string | undefined
}

/** The name of a producer that is a row of the task, with its index and run. */
export const ROW_NAME = /^row:(\d+):(\d+)$/

/** Returns the name under which the tables have a row of the task as a producer, in all its runs. */
export function rowName(index: number): string {
  return `row:${index}`
}

export function producerOf({ name, state }: Pick<Producer, 'name' | 'state'>): TaskProducer {
  return { name, broken: state === BROKEN }
}

export const UNKNOWN_TASK: AddAnswer = { ok: false, reason: 'unknown', cursor: 0 }

export function refusal(producer: Producer | undefined): AddAnswer {
  const reason = producer?.state === ENDED ? 'ended' : 'taken-over'
  return { ok: false, reason, cursor: producer?.cursor ?? 0 }
}
