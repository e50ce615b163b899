/** Runs rejected rows again: the same events, in a new run. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { pages } from '../inspect/walk.ts'
import { HighkiqError } from '../job/errors.ts'
import { given } from '../job/options.ts'
import { readPayload, splitTaskJid, taskJid } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import { allAmong, jidsOf } from '../job/rows.ts'
import { type Entry, isUnsuccessful, type Pull, type RetryRow, type TaskRecord } from '../store/contract.ts'
import { inPages } from './event.ts'
import { Producer } from './producer.ts'
import { checkRetry, type Retried, type RetryOptions, type SelectedRow, selectRows } from './retry-selection.ts'
import { retryTransient, unknownTask } from './rows.ts'
import { trackedTasks } from './task-plugin.ts'

export type { Retried, RetryOptions } from './retry-selection.ts'

const PAGE = 500
/** Workers read cancellations several times a second; within this time a running attempt has ended. */
const CANCELLED_WITHIN_MS = 3000
const POLL_MS = 50

/**
 * @returns how many rows run again; without rows no run begins
 * @throws UNKNOWN_TASK, INVALID_OPTION, INVALID_FILE; TASK_BUSY while another retry of the task runs, or the task is
 *   being cancelled
 */
export async function retryTask(app: AppPort, record: TaskRecord, options: RetryOptions = {}): Promise<Retried> {
  checkRetry(options)
  const retried: Retried = { run: record.run, rows: 0, unchanged: 0, finished: 0, open: 0, dropped: 0, refused: 0 }
  const chunks = inPages(await selectRows(app, record, given(options), retried))
  const producer = new Producer(app)
  const { store, now } = app
  const { id, queue, run } = record
  let dead: Map<number, Entry> | undefined
  try {
    for await (const chunk of chunks) {
      const hasBegun = retried.run > run
      const rows = hasBegun ? chunk : await rejectedStill(app, record, chunk, retried)
      if (rows.length === 0) continue
      if (!dead && rows.some(({ isDead }) => isDead)) dead = await deadEntries(app, id)
      const items = rows.map((row) => withDead(row, dead))
      if (!hasBegun) await refuseBusy(app, record)
      await withdrawCancellations(app, record, rows)
      if (!hasBegun) {
        await producer.join(queue)
        // A run without rows would call `onDone`, so it begins with some of them.
        const started = await retryTransient(() => store.tasks.startRun(id, run, producer.token, now(), items))
        if (started === 'empty') continue
        if (started === null) throw unknownTask(id)
        if (started !== 'ok') throw busy(id, started)
        retried.run = run + 1
      }
      const answers = await retryTransient(() => store.tasks.retryRows(id, run + 1, items, now()))
      for (const [i, answer] of answers.entries()) {
        if (answer === 'ok') retried.rows++
        if (answer === 'ok' && rows[i]?.isSame) retried.unchanged++
        if (answer === 'dropped') retried.dropped++
      }
    }
    if (retried.run === run) {
      await producer.release()
      return retried
    }
    // Another run may have begun meanwhile, if a report was sent slowly or the task is large.
    const current = await retryTransient(() => store.tasks.find(id))
    if (current && current.run !== run + 1) throw overtaken(id, retried.rows)
    await producer.end(id)
    return retried
  } catch (thrown) {
    await producer.interrupt(id)
    throw thrown
  } finally {
    // Closes a report of which not all was read.
    await chunks.return(undefined)
  }
}

/** Returns the rows that are still rejected and have their arguments, and counts the others. */
async function rejectedStill(
  { store }: AppPort,
  { id }: TaskRecord,
  rows: readonly SelectedRow[],
  retried: Retried,
): Promise<SelectedRow[]> {
  const indexes = rows.map(({ index }) => index)
  const found = await retryTransient(() => store.tasks.events(id, { indexes, limit: indexes.length }))
  const now = new Map(found.map((event) => [event.index, event]))
  return rows.filter(({ index, args }) => {
    const event = now.get(index)
    if (!event) return false
    if (event.status === 'finished') retried.finished++
    else if (!isUnsuccessful(event.status)) retried.open++
    else if (args === undefined && event.args === null) retried.dropped++
    else return true
    return false
  })
}

/**
 * Withdraws the cancellations of rows that run again, after their old jobs are out of the queue and a running attempt had
 * time to see its cancellation.
 */
async function withdrawCancellations(app: AppPort, record: TaskRecord, rows: readonly RetryRow[]): Promise<void> {
  const { store, now } = app
  let cancelled = rows.map(({ index }) => taskJid(record.id, index))
  for (let polls = 0; ; polls++) {
    cancelled = await retryTransient(() => store.cancellations.among(cancelled))
    if (cancelled.length === 0) return
    const isLast = polls === CANCELLED_WITHIN_MS / POLL_MS
    if (polls === 0 || isLast) await removeFromQueue(app, record, new Set(cancelled))
    if (isLast) break
    await sleep(POLL_MS)
  }
  await Promise.all(cancelled.map((jid) => retryTransient(() => store.cancellations.withdraw(jid, now()))))
}

/**
 * Removes cancelled jobs from the queue: without their cancellation they would run beside the new ones. Jobs of a newer run
 * stay: another retry has begun it.
 */
async function removeFromQueue(
  app: AppPort,
  { id, queue: name, run }: TaskRecord,
  cancelled: ReadonlySet<string>,
): Promise<void> {
  const { store, now } = app
  const queue = baseQueue(name)
  const tracked = trackedTasks(app)
  const read = (after: string | undefined) =>
    retryTransient(() => store.search.scanQueue(queue, `"${id}"`, { after, limit: PAGE }))
  for await (const { items } of pages(read)) {
    const pulls: Pull[] = []
    for (const { text, at } of items) {
      const payload = readPayload(text)
      if (payload?.hk_task !== id || (payload.hk_run ?? 1) > run || !allAmong(payload, cancelled)) continue
      const time = now()
      const ended = tracked.effects?.(payload, { kind: 'cancelled', begun: false }, () => time) ?? []
      const clear = { kind: 'clear-cancellation', at: time, dropped: true } as const
      const cleared = jidsOf(payload).map((jid) => ({ ...clear, jid }))
      pulls.push({ text, at, to: null, effects: [...ended, ...cleared] })
    }
    if (pulls.length > 0) await retryTransient(() => store.search.pull(queue, pulls, now()))
  }
}

/** Returns the dead-set entries of a task's rows, by the index of the row. */
async function deadEntries({ store }: AppPort, id: string): Promise<Map<number, Entry>> {
  const found = new Map<number, Entry>()
  const read = (after: string | undefined) =>
    retryTransient(() => store.search.scanSet('dead', `"${id}"`, { after, limit: PAGE }))
  for await (const { items } of pages(read)) {
    for (const entry of items) {
      const payload = readPayload(entry.text)
      if (payload?.hk_task !== id) continue
      for (const jid of jidsOf(payload)) found.set(splitTaskJid(jid).index, entry)
    }
  }
  return found
}

function withDead({ index, args, source }: SelectedRow, dead: ReadonlyMap<number, Entry> | undefined): RetryRow {
  const entry = dead?.get(index)
  return given({ index, args, source, dead: entry }) as RetryRow
}

/** Refuses a retry that another one has overtaken, before it removes anything. @throws TASK_BUSY, UNKNOWN_TASK */
async function refuseBusy({ store }: AppPort, { id, run }: TaskRecord): Promise<void> {
  const current = await retryTransient(() => store.tasks.find(id))
  if (!current) throw unknownTask(id)
  if (current.run !== run) throw busy(id, 'gone')
  if (current.state === 'cancelling') throw busy(id, 'cancelling')
}

function busy(id: string, why: 'gone' | 'cancelling'): HighkiqError {
  const what = why === 'gone' ? 'another retry of it is running' : 'it is being cancelled'
  return new HighkiqError('TASK_BUSY', `task ${id}: ${what}: look at its status, and try again`, {
    problem: why === 'gone' ? 'retrying' : 'cancelling',
  })
}

function overtaken(id: string, rows: number): HighkiqError {
  const message = `task ${id}: another retry began meanwhile: ${rows} rows of this retry run again, check the others`
  return new HighkiqError('TASK_BUSY', message, { problem: 'overtaken', rows })
}
