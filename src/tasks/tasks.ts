import { basename } from 'node:path'
import type { Job } from '../client/job.ts'
import { HighkiqError } from '../job/errors.ts'
import { refuseUnknown } from '../job/options.ts'
import type { TaskState } from '../store/contract.ts'
import { type CreateOptions, createTask, type Row, type TaskHost } from './create.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { type ImportRows, openImport } from './import.ts'
import type { TaskMeta } from './report.ts'
import type { Source } from './sheet/sheet.ts'
import { statusOf, Task, type TaskStatus } from './task.ts'
import { said } from './words.ts'

const CREATE_OPTIONS: (keyof CreateOptions)[] = ['name', 'queue', 'window', 'keepParams', 'onStart']
const IMPORT_OPTIONS: (keyof ImportRows)[] = ['validate', 'format', 'maxRows', 'sheet', 'delimiter']

export type ImportOptions = CreateOptions & ImportRows

/** `hq.tasks`: many jobs as one thing that can be watched. */
export class Tasks {
  readonly #host: TaskHost

  constructor(host: TaskHost) {
    this.#host = host
  }

  /**
   * One job for each element of `rows` (its arguments); resolves when all are stored. Jobs run while others are added.
   *
   * @example const task = await hq.tasks.create(ImportProduct, [['sku-1', 12.5], ['sku-2', 8]], { name: 'spring' })
   */
  create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<Args> | AsyncIterable<Args>,
    options: CreateOptions = {},
  ): Promise<Task> {
    return this.#host.client.apart('tasks.create', async () => {
      refuseUnknown('tasks.create', options, CREATE_OPTIONS)
      return createTask(this.#host, job as unknown as Job<never[]>, asRows(rows), options)
    })
  }

  /**
   * One job for each row of a CSV or XLSX file; the handler gets `(ctx, row)`, the row as an object by header.
   * @throws INVALID_FILE, TOO_MANY_ROWS; rows before the error stay, in a task that is `interrupted`
   */
  import<Row_ extends object>(job: Job<[row: Row_]>, source: Source, options: ImportOptions = {}): Promise<Task> {
    return this.#host.client.apart('tasks.import', () => this.#import(job as unknown as Job<never[]>, source, options))
  }

  async #import(job: Job<never[]>, source: Source, options: ImportOptions): Promise<Task> {
    refuseUnknown('tasks.import', options, [...CREATE_OPTIONS, ...IMPORT_OPTIONS])
    const { validate, format, maxRows, sheet, delimiter, ...create } = options
    const reading = { validate, format, maxRows, sheet, delimiter }
    const { columns, rows } = await openImport(source, withoutUndefined(reading), this.#host.now)
    const name = typeof source === 'string' ? basename(source) : undefined
    const meta = (): TaskMeta => ({ columns, ...(name ? { source: name } : {}) })
    return createTask(this.#host, job, rows, { ...(name ? { name } : {}), ...create, meta })
  }

  /** The task with this id; whether it exists is told by `status()`. */
  get(id: string): Task {
    return new Task(this.#host.store(), this.#host.now, id)
  }

  /** One event by its jid; null when there is none. */
  async event(jid: string): Promise<TaskEvent | null> {
    const store = this.#host.store()
    const event = await store.event(jid)
    const task = event && (await store.task(jid.slice(0, 16)))
    return event && task ? eventOf(task.job, event) : null
  }

  /** Adds a message to an event from outside its handler. @throws UNKNOWN_TASK */
  async message(jid: string, text: string): Promise<void> {
    await this.#host.store().message(jid, said(this.#host.now(), text))
  }

  /** Newest first; `next` is the cursor of the page behind this one. */
  async list({
    state,
    job,
    cursor,
    limit = 25,
  }: ListOptions = {}): Promise<{ items: TaskStatus[]; next: string | null }> {
    const [createdAt, id] = cursor?.split('-') ?? []
    const before = createdAt && id ? { before: { createdAt: Number(createdAt), id } } : {}
    const records = await this.#host.store().tasks({ ...before, limit })
    const last = records.at(-1)
    const items = records.filter((task) => (!state || task.state === state) && (!job || task.job === job))
    return {
      items: items.map((record) => statusOf(record, this.#host.now())),
      next: last && records.length === limit ? `${last.createdAt}-${last.id}` : null,
    }
  }
}

/** A page has at most `limit` tasks; a filter leaves fewer of them. */
export interface ListOptions {
  state?: TaskState
  job?: string
  cursor?: string
  limit?: number
}

async function* asRows(all: Iterable<unknown[]> | AsyncIterable<unknown[]>): AsyncGenerator<Row> {
  if (!isIterable(all)) throw invalid('rows must be an array or another iterable, one list of arguments for each job')
  let n = 0
  for await (const args of all) {
    if (!Array.isArray(args)) {
      const is = args === null ? 'null' : typeof args === 'object' ? 'an object' : `a ${typeof args}`
      throw invalid(`row ${n} is ${is}: each row is the list of a job's arguments, so write [row]`)
    }
    n++
    yield { args }
  }
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
