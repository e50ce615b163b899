/** Creates tasks and adds rows to them. Rows are stored while others are still read; their jobs run meanwhile. */

import type { AppPort } from '../app/port.ts'
import type { Client } from '../client/client.ts'
import type { Job } from '../client/job.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { forEachOf, stringifyJson } from '../job/json.ts'
import { given } from '../job/options.ts'
import { newTaskId, type Payload } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import type { Callback, TaskRecord, TaskSpec } from '../store/contract.ts'
import { labelsOf, metaOf, type TaskMeta } from './meta.ts'
import { type CallbackJob, policyOf, type TaskOptions, windowOf } from './options.ts'
import { Producer, producerToResume, type ResumedCall } from './producer.ts'
import { rowsBehind } from './resumed-file.ts'
import { findTask, type Row, type Rows, RowWriter, refuse, retryTransient, templateOf } from './rows.ts'

/**
 * The smallest default window, because a worker of 50 slots may fetch 150 jobs ahead. The default is at least twice the
 * slots that serve the queue, so that no slot waits while rows are left.
 */
const WINDOW = 200

export type CreateTask = TaskOptions & {
  /** Returns what the task remembers about its file. Called when the first rows are read. */
  about?: () => object
  /** The task's id, if it was chosen in advance. */
  id?: string
  /** Additional members of each row's payload. */
  members?: Partial<Payload>
  /** Called just before the task is created. If it throws, no task is created. It may be called again. */
  beforeCreate?: (() => Promise<void>) | undefined
  /** Called with the task's id once its first rows are stored. */
  started?: ((id: string) => void) | undefined
}

/**
 * @returns the task's id once all rows are stored
 * @throws INVALID_ARGS and what `rows` throws: the rows before it stay, and the task is `interrupted`
 */
export async function createTask(
  app: AppPort,
  job: Job<never[]>,
  rows: Rows,
  options: CreateTask = {},
): Promise<string> {
  const id = options.id ?? newTaskId()
  const producer = new Producer(app)
  const lists = options.rowsPerJob === undefined ? {} : LISTS
  const payload = { ...payloadOf(app, job, id, options.queue), ...lists, ...options.members }
  const own = { fitsTemplate: true, first: 0, ...grouped(options) }
  const writer = new RowWriter(app, { task: id, producer: producer.token, payload, ...own })
  let created = false
  const flush = async () => {
    const isFirst = !created
    if (isFirst) {
      const spec = await specOf(app, payload, producer.token, options)
      await producer.join(spec.queue)
      if (options.beforeCreate) await retryTransient(options.beforeCreate)
      await retryTransient(() => app.store.tasks.create(spec))
      created = true
    }
    await writer.flush()
    if (isFirst) options.started?.(id)
  }
  try {
    await addAll(writer, rows, flush)
    refuse(await producer.end(id), id)
    return id
  } catch (thrown) {
    // The rows read before the error are stored, unless the first step failed.
    if (created) await writer.flush().catch(() => {})
    // After a lost answer the store may have the task nevertheless.
    await producer.interrupt(id)
    throw created ? withTask(thrown, id) : thrown
  }
}

/**
 * Adds rows of the same or another job to a task that has not ended. With `resumed` it resumes such a call, whose producer may
 * no longer add: `rows` are all rows of that call, from the first, and those already stored are skipped.
 * @returns how many it added. @throws TASK_ENDED, UNKNOWN_TASK, what producerToResume throws, and what `rows` throws:
 *   the rows before it stay
 */
export async function addToTask(
  app: AppPort,
  record: TaskRecord,
  job: Job<never[]>,
  rows: Rows,
  resumed?: ResumedCall,
): Promise<number> {
  const { store, now } = app
  const { id, queue } = record
  const isResumed = resumed !== undefined
  const previous = isResumed ? await producerToResume(app, record, resumed) : undefined
  if (previous === null) return 0
  const producer = new Producer(app, previous)
  const { token } = producer
  await producer.join(queue)
  let writer: RowWriter | undefined
  try {
    refuse(await retryTransient(() => store.tasks.openAdding(id, token, now(), previous)), id)
    const cursor = isResumed ? await cursorOf(app, id, token) : 0
    // The store is asked only now, since another producer may have added rows before.
    const missing = isResumed ? rowsBehind(rows, cursor, await retryTransient(() => findTask(app, id))) : rows
    const adding = rowsOf(app, record, job, token, cursor)
    writer = adding
    await addAll(adding, missing, () => adding.flush())
    refuse(await producer.end(id), id)
    return adding.cursor - cursor
  } catch (thrown) {
    // The rows read before the error are stored.
    await writer?.flush().catch(() => {})
    await producer.interrupt(id, isResumed)
    throw writer && (isResumed || writer.cursor > 0) ? withTask(thrown, id) : thrown
  }
}

/**
 * Returns the `add` of one row's handler. When the handler runs again with the same arguments, also in a later run, rows that are
 * stored already are skipped.
 */
export function rowProducer(
  app: AppPort,
  id: string,
  { index, run }: { index: number; run: number },
): (job: Job<never[]>, rows: Rows) => Promise<number> {
  let cursor = 0
  let last: Promise<unknown> = Promise.resolve()
  const add = async (job: Job<never[]>, rows: Rows) => {
    const record = await retryTransient(() => findTask(app, id))
    const writer = rowsOf(app, record, job, `row:${index}:${run}`, cursor)
    const before = cursor
    try {
      await addAll(writer, rows, () => writer.flush())
    } finally {
      cursor = writer.cursor
    }
    return cursor - before
  }
  return (job, rows) => {
    // One call after the other, so that each attempt adds the same rows at the same positions.
    const added = last.then(() => add(job, rows))
    last = added.catch(() => {})
    return added
  }
}

/** Returns how many rows a producer has added. The store answers it when it refuses rows at too high a position. */
async function cursorOf({ store, now }: AppPort, id: string, producer: string): Promise<number> {
  const answer = await retryTransient(() => store.tasks.addRows(id, producer, 2 ** 32, [], now()))
  return answer.ok ? 0 : answer.cursor
}

async function addAll(writer: RowWriter, rows: Rows, flush: () => Promise<void>): Promise<void> {
  const flushFull = () => (writer.isFull ? flush() : undefined)
  const add = (row: Row) => {
    const added = writer.add(row)
    return added ? added.then(flushFull) : flushFull()
  }
  await forEachOf(rows, add)
  await flush()
}

function grouped({ rowsPerJob }: { rowsPerJob?: number | null }): { rowsPerJob?: number } {
  return rowsPerJob === undefined || rowsPerJob === null ? {} : { rowsPerJob }
}

/** The payload member that makes the handler get its rows as a list. */
const LISTS = { hk_list: true } as const

function rowsOf(app: AppPort, record: TaskRecord, job: Job<never[]>, producer: string, cursor = 0): RowWriter {
  const { export: file, format } = metaOf(record)
  const page = file ? { hk_part: true as const } : {}
  // Only the task's own job gets lists; another job gets its own arguments.
  const lists = record.rowsPerJob !== null && job.name === record.job ? LISTS : {}
  const payload = { ...payloadOf(app, job, record.id, record.queue), ...lists, ...page }
  // The template holds the job's options at the task's creation. A job with other options now stores them in the row.
  const hasOptions = Object.values(job.defaults).some((value) => value !== undefined)
  const fitsTemplate = job.name === record.job && !hasOptions
  const ofFile = format !== undefined
  return new RowWriter(app, { task: record.id, producer, payload, fitsTemplate, ofFile, cursor, ...grouped(record) })
}

function payloadOf(app: AppPort, job: Job<never[]>, id: string, queue: string | undefined): Payload {
  const options = { ...job.defaults, ...(queue === undefined ? {} : { queue }) }
  const request = { ...options, class: job.name, args: [] }
  app.client.refuseUnique(request, 'rows of a task')
  const payload = app.client.normalise(request)
  if (payload.at !== undefined) {
    throw invalidOption(`${job.name}: rows of a task can't be scheduled: schedule a job that creates the task`)
  }
  return { ...payload, hk_task: id }
}

async function specOf(app: AppPort, payload: Payload, producer: string, options: CreateTask): Promise<TaskSpec> {
  const { name, keepArgs = 'rejected', about, meta, onDone, onFailure } = options
  const labels = meta ? labelsOf(meta) : {}
  const id = payload.hk_task as string
  return {
    id,
    name: name ?? payload.class,
    job: payload.class,
    queue: payload.queue,
    template: templateOf(app.client, payload),
    ...grouped(options),
    window: windowOf(options) ?? (await defaultWindow(app, payload.queue)),
    keepArgs,
    meta: stringifyJson({ ...about?.(), ...given({ callbacks: namesOf({ onDone, onFailure }), own: meta }) }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    createdAt: app.now(),
    producer,
    ...policyOf(options),
    onDone: onDone ? await callbackOf(app.client, onDone, id) : null,
    onFailure: onFailure ? await callbackOf(app.client, onFailure, id) : null,
  }
}

function namesOf({ onDone, onFailure }: Pick<TaskOptions, 'onDone' | 'onFailure'>): TaskMeta['callbacks'] {
  return onDone || onFailure ? given({ onDone: onDone?.name, onFailure: onFailure?.name }) : undefined
}

/**
 * Returns the job that a task pushes when it ends or fails. It passes the client middleware now; null when that filters
 * it.
 */
async function callbackOf(client: Client, job: CallbackJob, task: string): Promise<Callback | null> {
  const request = (job as Job<[task: string, run: number]>).request([task, 1])
  client.refuseUniqueCallback(request, 'a callback of a task')
  // Its arguments are no secret, and the store writes them.
  const payload = await client.pass(client.normalise({ ...request, track: false, unique: false, encrypt: false }))
  return payload && { queue: payload.queue, template: templateOf(client, payload) }
}

async function defaultWindow(app: AppPort, queue: string): Promise<number> {
  let slots = 0
  for (const process of await app.store.workers.processes()) {
    const { queues } = JSON.parse(process.info) as { queues?: string[] }
    if (queues?.includes(baseQueue(queue))) slots += process.concurrency
  }
  return Math.max(WINDOW, 2 * slots)
}

/** Returns the error with the id of the task that holds the rows stored before it. */
function withTask(thrown: unknown, id: string): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  const message = `${thrown.message} (the rows before it are in task ${id}, and will run)`
  return new HighkiqError(thrown.code, message, { ...thrown.details, task: id }, { cause: thrown })
}
