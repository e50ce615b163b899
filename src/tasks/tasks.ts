import { basename } from 'node:path'
import type { Job } from '../client/job.ts'
import { refuseUnknown } from '../job/options.ts'
import type { TaskState } from '../store/contract.ts'
import { type CreateTask, createTask } from './create.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { type ExportFile, exportMeta } from './export.ts'
import { type ImportRows, openImport } from './import.ts'
import { TASK_OPTIONS, type TaskOptions } from './options.ts'
import type { TaskMeta } from './report.ts'
import { asRows, type Rows, type TaskHost } from './rows.ts'
import type { Source } from './sheet/sheet.ts'
import { statusOf, Task, type TaskStatus } from './task.ts'
import { said } from './words.ts'

const IMPORT_OPTIONS: (keyof ImportRows & string)[] = ['validate', 'format', 'maxRows', 'sheet', 'delimiter']

export interface CreateOptions extends TaskOptions {
  /** Hears of the task as soon as its first rows are stored, while others are still being read. */
  onStart?: (task: Task) => void
}

const CREATE_OPTIONS = [...TASK_OPTIONS, 'onStart']

export type ExportOptions = CreateOptions & ExportFile
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
      return this.#create(job as unknown as Job<never[]>, asRows(rows), options)
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
    return this.#create(job, rows, { ...(name ? { name } : {}), ...create }, { meta })
  }

  /**
   * One job for each page; each returns the rows of its page (lists of cells, or objects), and `task.download()` gives
   * them as one file in the order of the pages. A page that is not a list of arguments is the one argument.
   *
   * @example const task = await hq.tasks.export(ExportPage, pages, { format: 'csv', columns: ['id', 'name'] })
   */
  async export<Args extends unknown[]>(
    job: Job<Args, readonly (object | readonly unknown[])[]>,
    pages: Iterable<Args | Args[0]> | AsyncIterable<Args | Args[0]>,
    options: ExportOptions = {},
  ): Promise<Task> {
    refuseUnknown('tasks.export', options, [...CREATE_OPTIONS, 'format', 'columns', 'artifacts'])
    const { format, columns, artifacts, ...create } = options
    const file = exportMeta(withoutUndefined({ format, columns, artifacts }))
    const members = { hk_part: file.dir ?? (true as const) }
    return this.#create(job as unknown as Job<Args>, asRows(listed(pages)), create, {
      meta: () => ({ export: file }),
      members,
    })
  }

  /** The task with this id; whether it exists is told by `status()`. */
  get(id: string): Task {
    return new Task(this.#host, id)
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

  async #create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Rows,
    options: CreateOptions,
    about: Pick<CreateTask, 'meta' | 'members'> = {},
  ) {
    const { onStart, ...rest } = options
    const started = onStart && ((id: string) => onStart(this.get(id)))
    const spec = { ...rest, ...about, started }
    return this.get(await createTask(this.#host, job as unknown as Job<never[]>, rows, spec))
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

async function* listed(pages: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<unknown[]> {
  for await (const page of pages) yield Array.isArray(page) ? page : [page]
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
