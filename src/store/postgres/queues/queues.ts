/** Ready jobs: pushing them to either end of their queue, and fetching them from the front. */

import { baseQueue, priorityName, priorityOf } from '../../../job/priority.ts'
import type { FetchedJob } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { MOST_CHARACTERS, slicesOf } from './slices.ts'
import { ticketOf } from './tickets.ts'

export class Queues extends Tables {
  /** Adds jobs at the back, in the order given. */
  async pushBack(queue: string, texts: readonly string[]): Promise<void> {
    await this.#put(sql.queue.putBack, queue, texts)
  }

  /** Adds jobs at the front, each before the one before. */
  async pushFront(queue: string, texts: readonly string[]): Promise<void> {
    await this.#put(sql.queue.putFront, queue, texts)
  }

  /** Adds jobs and grows the queue, which is created if it is new. Its waiters are notified. */
  async #put(statement: string, queue: string, texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return
    const name = baseQueue(queue)
    const offset = priorityOffset(queue)
    this.db.notify(name)
    for (const slice of slicesOf(texts, ({ length }) => length)) {
      const values = [name, slice.map((text) => text.toWellFormed()), offset] as const
      if ((await this.db.run(statement, ...values)) > 0) continue
      await this.db.run(sql.queue.create, name)
      await this.db.run(statement, ...values)
    }
  }

  /** Counts the jobs of a queue that wait for room in their limits. */
  async countLimited(queue: string, change: number): Promise<void> {
    if ((await this.db.run(sql.queue.countLimited, queue, change)) > 0) return
    await this.db.run(sql.queue.create, queue)
    await this.db.run(sql.queue.countLimited, queue, change)
  }

  /** Moves at most `n` jobs of the queues, in their order, to an owner, whose fetch has this number. */
  async fetch(owner: number, queues: readonly string[], n: number, fetchNumber: number): Promise<FetchedJob[]> {
    type Row = { queue: string; queueId: number; position: number; text: string }
    type Unpacked = { firstJobs: (string | null)[] | null }
    const unpacked = await this.db.first<Unpacked>(sql.queue.unpackNext, queues, n)
    const rows = await this.db.all<Row>(sql.queue.fetch, owner, queues, n, fetchNumber, unpacked?.firstJobs ?? null)
    return rows.map(({ queue, queueId, position, text }) => ({
      queue: queueAt(queue, position),
      ticket: ticketOf({ queue: queueId, position, fetchNumber }),
      text,
    }))
  }

  async hasJobs(queues: readonly string[]): Promise<boolean> {
    return (await this.db.first(sql.queue.hasJobs, queues)) !== undefined
  }
}

export interface Sized {
  bytes: number
}

/** Returns how many of the first texts fit into one statement. */
export function howManyFit(sizes: readonly Sized[]): number {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, i) => {
    sum += bytes
    return i > 0 && sum > MOST_CHARACTERS
  })
  return beyond === -1 ? sizes.length : beyond
}

/** The positions of the jobs with priority n are around -n times this number. */
export const SPAN_OF_PRIORITY = 2 ** 48

/** Returns what is subtracted from the positions of jobs for the priority in the name of their queue. */
export function priorityOffset(queue: string): number {
  return priorityOf(queue) * SPAN_OF_PRIORITY
}

/** Returns the name of the queue and priority that a position belongs to. */
export function queueAt(queue: string, position: number): string {
  return position > -SPAN_OF_PRIORITY / 2 ? queue : priorityName(queue, Math.round(-position / SPAN_OF_PRIORITY))
}
