import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../job/errors.ts'
import type { EventRecord, EventStatus, Store, TaskRecord, TaskState } from '../store/contract.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { insist } from './insist.ts'
import { writeReport } from './report.ts'

export interface TaskStatus {
  id: string
  name: string
  job: string
  queue: string
  state: TaskState
  run: number
  /** Rows added so far; it grows while the state is `adding`. */
  total: number
  /** Rows that wait for their turn inside the task; part of `counts.enqueued`. */
  held: number
  /** Rows that wait for a retry (or a snooze); part of `counts.enqueued`. */
  retrying: number
  counts: Record<EventStatus, number>
  /** Of all rows added so far, those that have ended; 100 for a task without rows. */
  percent: number
  createdAt: Date
  finishedAt: Date | null
  /** Rows ended per second, over the task's life. */
  ratePerSecond: number
  /** null while rows are still being added, when none has ended yet, or when only retries are left. */
  etaSeconds: number | null
}

export interface WaitOptions {
  signal?: AbortSignal
  onProgress?: (status: TaskStatus) => void
  /** Milliseconds between looks; default 200. */
  every?: number
}

const PAGE = 500

export function endedOf({ finished, failed, error, cancelled }: Record<EventStatus, number>): number {
  return finished + failed + error + cancelled
}

/** A tracked task, by its id. Everything here asks the store anew. */
export class Task {
  readonly id: string
  readonly #store: Store
  readonly #now: () => number

  constructor(store: Store, now: () => number, id: string) {
    this.id = id
    this.#store = store
    this.#now = now
  }

  /** null when there is no such task. */
  async status(): Promise<TaskStatus | null> {
    const record = await this.#store.task(this.id)
    return record && statusOf(record, this.#now())
  }

  /** The task's events in the order of its rows, all or of some statuses. */
  async *events({ status }: { status?: EventStatus[] } = {}): AsyncGenerator<TaskEvent> {
    const task = await this.#record()
    for await (const event of this.#pages(status)) yield eventOf(task.job, event)
  }

  /**
   * Resolves when nothing of the task is left to do.
   * @throws UNKNOWN_TASK; the reason of `signal` when it aborts
   */
  async wait({ signal, onProgress, every = 200 }: WaitOptions = {}): Promise<TaskStatus> {
    for (;;) {
      signal?.throwIfAborted()
      const status = statusOf(await insist(() => this.#record()), this.#now())
      onProgress?.(status)
      const open = status.counts.enqueued + status.counts.working
      if (status.state === 'done' || status.state === 'cancelled') return status
      if (status.state === 'interrupted' && open === 0) return status
      await sleep(every, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
    }
  }

  /**
   * Writes the rows that did not finish – the columns as they came, then why – to a `.csv` or `.xlsx` file.
   * @returns how many rows. @throws UNKNOWN_TASK, REPORT_FAILED
   */
  async report(path: string): Promise<{ rows: number }> {
    return writeReport(path, await this.#record(), this.#pages(['failed', 'error', 'cancelled']))
  }

  async *#pages(status?: EventStatus[]): AsyncGenerator<EventRecord> {
    let after = -1
    for (;;) {
      const page = await this.#store.events(this.id, { ...(status ? { status } : {}), after, limit: PAGE })
      yield* page
      const last = page.at(-1)
      if (!last || page.length < PAGE) return
      after = last.index
    }
  }

  async #record(): Promise<TaskRecord> {
    const record = await this.#store.task(this.id)
    if (!record) throw new HighkiqError('UNKNOWN_TASK', `no task ${this.id}: it was deleted, or the id is wrong`)
    return record
  }
}

export function statusOf(record: TaskRecord, now: number): TaskStatus {
  const { id, name, job, queue, state, run, total, held, counts } = record
  const ended = endedOf(counts)
  const seconds = Math.max((record.finishedAt ?? now) - record.createdAt, 1) / 1000
  const ratePerSecond = ended / seconds
  const open = counts.enqueued + counts.working
  const retrying = Math.max(open - held - record.placed, 0)
  const exact = state !== 'adding' && ended > 0 && (open === 0 || retrying < open)
  return {
    id,
    name,
    job,
    queue,
    state,
    run,
    total,
    held,
    retrying,
    counts,
    percent: total === 0 ? 100 : (ended / total) * 100,
    createdAt: new Date(record.createdAt),
    finishedAt: record.finishedAt === null ? null : new Date(record.finishedAt),
    ratePerSecond,
    etaSeconds: exact ? (total - ended) / ratePerSecond : null,
  }
}
