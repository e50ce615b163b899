/** Changing, pausing and cancelling a task, and running its rejected rows again. */

import { taskJid } from '../../../job/payload.ts'
import { endedOf, type Message, type RetryRow, type TaskChange } from '../../contract.ts'
import { rowName } from '../../sql/producer.ts'
import {
  type EventState,
  hasEnded,
  isStopped,
  type NewRun,
  type Retried,
  retryAnswer,
  STATUS_CODE,
  WINDOW,
  written,
} from '../../sql/task-row.ts'
import { Tables } from '../file/database.ts'
import { Deferrals } from '../ledgers/deferrals.ts'
import type { Ledgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import { JobSets } from '../queues/job-sets.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from './adding.ts'

/** The number of rows that one call of `cancelRows` reads for each row that it may cancel. */
const CHECKED_PER_CANCEL = 10

export class Runs extends Tables {
  readonly #adding = this.db.get(Adding)

  change(task: TaskRow, change: TaskChange): 'ok' | 'ended' {
    if (hasEnded(task)) return 'ended'
    if (change.name !== undefined) task.name = change.name
    if (change.window !== undefined) task.window = change.window
    if (change.maxFailures !== undefined) task.max_failures = written(change.maxFailures)
    if (change.onMaxFailures !== undefined) task.on_max_failures = change.onMaxFailures
    const paused = change.paused === undefined || isStopped(task) ? task.paused : Number(change.paused)
    // Each pause has its own reason, which ends with it.
    if (paused !== task.paused) task.reason = null
    task.paused = paused
    if (change.reason !== undefined) task.reason = written(change.reason)
    return 'ok'
  }

  cancel(ledgers: Ledgers, ledger: TaskLedger, reason: Message | null): 'ok' | 'ended' {
    if (hasEnded(ledger.task)) return 'ended'
    if (isStopped(ledger.task)) return 'ok'
    ledgers.stop(ledger)
    ledger.task.reason = written(reason)
    return 'ok'
  }

  cancelRows(ledgers: Ledgers, ledger: TaskLedger, most: number) {
    const answer = { cancelled: 0, maybeRunning: [] as string[], done: true }
    const { task } = ledger
    if (task.state !== 'cancelling') return answer
    const checked = most * CHECKED_PER_CANCEL
    const rows = this.db.all<{ idx: number; status: number }>(sql.event.open, task.key, task.cancel_from, checked, most)
    ledgers.load(
      ledger,
      rows.map(({ idx }) => idx),
    )
    const parked = this.db.get(Deferrals).parked(task, rows)
    for (const { idx } of rows) {
      const event = ledgers.event(ledger, idx)
      if (event && parked.has(idx) && event.status === STATUS_CODE.working) {
        this.db.get(Deferrals).end(task, event)
        ledgers.cancel(ledger, event)
        answer.cancelled++
        continue
      }
      // A row that shares its job with others may be working without being in the window.
      if (event?.location === WINDOW || event?.status === STATUS_CODE.working)
        answer.maybeRunning.push(taskJid(task.id, idx))
      if (event?.status !== STATUS_CODE.enqueued) continue
      ledgers.cancel(ledger, event)
      answer.cancelled++
    }
    const last = rows.at(-1)
    task.cancel_from = last && rows.length === most ? last.idx + 1 : task.cancel_from + checked
    const isOver = task.cancel_from >= task.total
    if (isOver) task.cancel_from = 0
    answer.done = task.enqueued === 0 && (isOver || task.working === 0)
    return answer
  }

  start(
    ledgers: Ledgers,
    ledger: TaskLedger,
    { run, producer, now, rows }: NewRun,
  ): 'ok' | 'gone' | 'cancelling' | 'empty' {
    const { task } = ledger
    if (task.run === run + 1 && this.#adding.isOpen(task, producer)) return 'ok'
    if (task.run !== run) return 'gone'
    if (task.state === 'cancelling') return 'cancelling'
    if (rows.length > 0) {
      const answerTo = this.#answerTo(ledgers, ledger, run + 1, rows)
      if (rows.every((row) => answerTo(row) !== 'again')) return 'empty'
    }
    // The reason of a cancelled task ends here; that of a paused or interrupted task stays.
    if (!task.paused && task.broken === 0) task.reason = null
    task.run++
    task.run_at = now
    task.ended_before = endedOf(task)
    this.#adding.addProducer(task, producer, { retry: true })
    task.state = 'adding'
    task.finished_at = null
    task.expires_at = null
    if (rows.length > 0) this.retry(ledgers, ledger, task.run, rows)
    return 'ok'
  }

  retry(ledgers: Ledgers, ledger: TaskLedger, run: number, rows: readonly RetryRow[]): Retried[] {
    if (ledger.task.run !== run || isStopped(ledger.task)) return rows.map(() => 'gone')
    const answerTo = this.#answerTo(ledgers, ledger, run, rows)
    return rows.map((row) => {
      const answer = answerTo(row)
      if (answer !== 'again') return answer
      this.#retryRow(ledgers, ledger, row)
      return 'ok'
    })
  }

  /** Loads these rows. Returns a function that says whether one of them runs again. */
  #answerTo(ledgers: Ledgers, ledger: TaskLedger, run: number, rows: readonly RetryRow[]) {
    const indexes = rows.map(({ index }) => index)
    ledgers.load(ledger, indexes)
    const kept = this.db.all<{ idx: number }>(sql.event.withArgs, ledger.task.key, JSON.stringify(indexes))
    const hasArgs = new Set(kept.map(({ idx }) => idx))
    return ({ index, args }: RetryRow) =>
      retryAnswer(run, ledger.events.get(index), args !== undefined || hasArgs.has(index))
  }

  leaveWindow(ledgers: Ledgers, ledger: TaskLedger, indexes: readonly number[]): void {
    ledgers.load(ledger, indexes)
    for (const index of indexes) {
      const event = ledger.events.get(index)
      if (event?.location === WINDOW) ledgers.leave(ledger, event)
    }
  }

  #retryRow(ledgers: Ledgers, ledger: TaskLedger, { index, args, source, dead }: RetryRow): void {
    const { task } = ledger
    const event = ledger.events.get(index) as EventState
    if (args !== undefined || source !== undefined) {
      this.db.run(sql.event.correct, task.key, index, args?.toWellFormed() ?? null, source?.toWellFormed() ?? null)
    }
    if (args !== undefined) this.db.run(sql.producer.remove, task.key, rowName(index))
    ledgers.become(ledger, event, 'enqueued', null)
    task.ended_before--
    ledgers.putInBacklog(ledger, event)
    event.run = task.run
    event.step = 1
    event.started_at = null
    event.finished_at = null
    event.result = null
    event.drop = false
    if (dead) this.db.get(JobSets).remove('dead', dead)
  }
}
