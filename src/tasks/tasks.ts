import { basename } from 'node:path'
import type { Job } from '../client/job.ts'
import { HighkiqError } from '../job/errors.ts'
import { checkOptions, checkText, given, type OptionKind } from '../job/options.ts'
import { newTaskId } from '../job/payload.ts'
import { type Store, TASK_STATES, type TaskRecord, type TaskState } from '../store/contract.ts'
import { type CreateTask, continueTask, createTask } from './create.ts'
import { type DryRun, dryRun } from './dry-run.ts'
import { claimFile } from './duplicate-import.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { type ExportOf, exportMeta } from './export.ts'
import { checkSource, IMPORT_OPTIONS, type ImportRows, type OpenImport, openImport } from './import.ts'
import { appMessage } from './messages.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { checkJob, checkTaskOptions, TASK_OPTIONS, type TaskOptions } from './options.ts'
import { checkSameTable } from './resumed-file.ts'
import { asRows, isIterable, type Rows, type TaskHost, unknownTask } from './rows.ts'
import type { Source } from './spreadsheet/source.ts'
import { statusOf, Task, type TaskStatus } from './task.ts'

export interface CreateOptions extends TaskOptions {
  /** Hears of the task as soon as its first rows are stored, while others are still being read. */
  onStart?: (task: Task) => void
}

const CREATE_OPTIONS = [...TASK_OPTIONS, 'onStart'] as const
const EXPORT_OPTIONS = ['format', 'columns', 'artifacts'] as const
const EXPORTED = Object.fromEntries(EXPORT_OPTIONS.map((name) => [name, null]))
const IMPORTED: Readonly<Record<string, OptionKind>> = {
  ...Object.fromEntries(IMPORT_OPTIONS.map((name) => [name, null])),
  dryRun: 'flag',
  allowDuplicate: 'flag',
  resume: 'text',
  id: 'text',
}

export type ExportOptions = CreateOptions & { rowsPerJob?: undefined } & ExportOf

export interface ImportOptions extends CreateOptions, ImportRows {
  /** Only reads and checks: nothing is pushed. */
  dryRun?: boolean
  /** Also if the same bytes were imported within the last 24 hours. */
  allowDuplicate?: boolean
  /** Goes on with this task of the same file, whose importer died or was cut off: what is there is passed over. */
  resume?: string
  /** The task's id, where it was chosen in advance: 16 hex digits. */
  id?: string
}

/** What `create` takes of a row of a list: it as the one argument; a list also as the arguments. */
export type ArgsOfRow<R> = [row: R] | (R extends unknown[] ? R : never)

/** `hq.tasks`: many jobs as one thing that can be watched. */
export class Tasks {
  readonly #host: TaskHost

  constructor(host: TaskHost) {
    this.#host = host
  }

  /**
   * One job for each element of `rows` (its arguments); resolves when all are stored. Jobs run while others are added.
   * `id`: the task's, where it was chosen in advance (16 hex digits). @throws TASK_TAKEN_OVER: there is one with it
   *
   * With `rowsPerJob` the handler gets `(ctx, rows)`: of each row its one argument, else the list of its arguments.
   *
   * @example const task = await hq.tasks.create(ImportProduct, [['sku-1', 12.5], ['sku-2', 8]], { name: 'spring' })
   */
  create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<Args> | AsyncIterable<Args>,
    options?: CreateOptions & { id?: string; rowsPerJob?: undefined },
  ): Promise<Task>
  create<R>(
    job: Job<[rows: R[]]>,
    rows: Iterable<ArgsOfRow<R>> | AsyncIterable<ArgsOfRow<R>>,
    options: CreateOptions & { id?: string; rowsPerJob: number },
  ): Promise<Task>
  create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<unknown[]> | AsyncIterable<unknown[]>,
    options: CreateOptions & { id?: string } = {},
  ): Promise<Task> {
    return this.#host.client.apart('tasks.create', async () => {
      checkCreate('tasks.create', job, options, { id: 'text' })
      const { id, ...rest } = options
      checkId('tasks.create', id)
      return this.#create(
        job as unknown as Job<never[]>,
        asRows(rows, options.maxRows),
        rest,
        id === undefined ? {} : { id },
      )
    })
  }

  /**
   * One job for each row of a CSV, XLSX or NDJSON file; the handler gets `(ctx, row)`, the row as an object by header;
   * with `rowsPerJob` it gets `(ctx, rows)`. With `dryRun` it is only read and checked.
   * @throws INVALID_FILE, TOO_MANY_ROWS; rows before the error stay, in a task that is `interrupted`.
   *   ALREADY_IMPORTED: the same bytes (of a path, a Buffer or a workbook) within 24 hours, without `allowDuplicate`
   */
  import<Row_ extends object>(
    job: Job<[row: Row_]>,
    source: Source,
    options: ImportOptions & { dryRun: true },
  ): Promise<DryRun>
  import<Row_ extends object>(
    job: Job<[row: Row_]>,
    source: Source,
    options?: ImportOptions & { dryRun?: false },
  ): Promise<Task>
  import<Row_ extends object>(
    job: Job<[row: Row_]>,
    source: Source,
    options: ImportOptions = {},
  ): Promise<Task | DryRun> {
    return this.#host.client.apart('tasks.import', () => this.#import(job as unknown as Job<never[]>, source, options))
  }

  async #import(job: Job<never[]>, source: Source, options: ImportOptions): Promise<Task | DryRun> {
    checkCreate('tasks.import', job, options, IMPORTED)
    checkSource('tasks.import: the second argument', source)
    const { dryRun: only = false, allowDuplicate = false, resume: begun, id = newTaskId(), ...rest } = options
    checkId('tasks.import', id)
    const { validate } = job.definition.options
    const interrupted = begun === undefined ? undefined : await this.#record(begun)
    const mapping = interrupted && metaOf(interrupted).mapping
    const reading = {
      ...(validate ? { validate } : {}),
      ...(mapping ? { columns: mapping } : {}),
      ...given(rest, IMPORT_OPTIONS),
    }
    const file = await openImport(source, reading, this.#host.now)
    if (only) return dryRun(file)
    const name = typeof source === 'string' ? { name: basename(source) } : {}
    const { header, format } = file
    const meta: TaskMeta = {
      format,
      ...(header ? { columns: header } : {}),
      ...(typeof source === 'string' ? { source: basename(source) } : {}),
      ...(rest.columns ? { mapping: rest.columns } : {}),
      ...given(rest, ['rowKey', 'maxRows']),
      ...(reading.validate ? { validated: true as const } : {}),
    }
    let unclaim: (() => Promise<void>) | undefined
    try {
      if (interrupted) return await this.#resume(interrupted, job, file)
      unclaim = await this.#claim(id, job.name, file, { sheet: rest.sheet, allowDuplicate })
      await this.#create(
        job,
        file.rows,
        { ...name, ...given(rest, CREATE_OPTIONS) },
        { id, meta: () => ({ ...meta, encoding: file.encoding() }) },
      )
      return new Task(this.#host, id, file.encoding())
    } catch (thrown) {
      // Refused later only if there is a task to look at.
      const made = unclaim && (await this.#store.tasks.find(id).catch(() => undefined))
      if (made === null) await unclaim?.().catch(() => {})
      throw thrown
    } finally {
      await file.close()
    }
  }

  async #resume(record: TaskRecord, job: Job<never[]>, file: OpenImport): Promise<Task> {
    checkSameTable(record, file)
    await continueTask(this.#host, record, job, file.rows)
    return this.get(record.id)
  }

  /** @throws UNKNOWN_TASK */
  async #record(id: string): Promise<TaskRecord> {
    const record = await this.#store.tasks.find(id)
    if (!record) throw unknownTask(id)
    return record
  }

  async #claim(
    id: string,
    job: string,
    file: OpenImport,
    { sheet = '', allowDuplicate }: Pick<ImportOptions, 'sheet' | 'allowDuplicate'>,
  ): Promise<() => Promise<void>> {
    const digest = await file.digest()
    if (!digest) return async () => {}
    return claimFile(this.#store, {
      key: `import:${job}:${digest}:${sheet}`,
      id,
      now: this.#host.now(),
      allowDuplicate,
    })
  }

  /**
   * One job for each page; each returns the rows of its page (lists of cells, or objects), and `task.download()` gives
   * them as one file in the order of the pages. A page that is not a list of arguments is the one argument.
   *
   * @example const task = await hq.tasks.export(ExportPage, pages, { format: 'csv', columns: ['id', 'name'] })
   */
  export<Args extends unknown[]>(
    job: Job<Args, readonly (object | readonly unknown[])[]>,
    pages: Iterable<Args | Args[0]> | AsyncIterable<Args | Args[0]>,
    options: ExportOptions = {},
  ): Promise<Task> {
    return this.#host.client.apart('tasks.export', async () => {
      checkCreate('tasks.export', job, options, EXPORTED)
      if (options.rowsPerJob !== undefined)
        throw invalid('tasks.export: each page is a job of its own: leave out rowsPerJob')
      const file = exportMeta(given(options, EXPORT_OPTIONS))
      const about = { meta: () => ({ export: file }), members: { hk_part: true as const } }
      return this.#create(
        job as unknown as Job<never[]>,
        asRows(listed(pages), options.maxRows),
        given(options, CREATE_OPTIONS),
        about,
      )
    })
  }

  /** The task with this id; whether it exists is told by `status()`. */
  get(id: string): Task {
    checkText('tasks.get: the id of a task', id)
    return new Task(this.#host, id)
  }

  /** One event by its jid; null when there is none. */
  async event(jid: string): Promise<TaskEvent | null> {
    checkText('tasks.event: a jid', jid)
    const store = this.#store
    const event = await store.tasks.event(jid)
    const task = event && (await store.tasks.find(jid.slice(0, 16)))
    return event && task ? eventOf(task.job, event) : null
  }

  /** Adds a message to an event from outside its handler. @throws UNKNOWN_TASK */
  async message(jid: string, text: string): Promise<void> {
    checkText('tasks.message: a jid', jid)
    checkText('tasks.message: a message', text)
    await this.#host.store().tasks.addMessage(jid, appMessage(this.#host.now(), text))
  }

  get #store(): Store {
    return this.#host.store()
  }

  async #create(
    job: Job<never[]>,
    rows: Rows,
    { onStart, ...options }: CreateOptions,
    about: Pick<CreateTask, 'id' | 'meta' | 'members'> = {},
  ): Promise<Task> {
    const started = onStart && ((id: string) => onStart(this.get(id)))
    return this.get(await createTask(this.#host, job, rows, { ...options, ...about, started }))
  }

  /** Newest first; `next` is the cursor of the page behind this one. @throws INVALID_OPTION */
  async list(options: ListOptions = {}): Promise<{ items: TaskStatus[]; next: string | null }> {
    checkOptions('tasks.list', options, { state: TASK_STATES, job: 'text', cursor: null, limit: 'count' })
    const { state, job, cursor, limit = 25 } = options
    const [, createdAt, id] = /^(\d+)-([0-9a-f]{16})$/.exec(cursor ?? '') ?? []
    if (cursor !== undefined && !id) throw invalid('tasks.list: cursor is what the answer before gave as `next`')
    const before = createdAt && id ? { before: { createdAt: Number(createdAt), id } } : {}
    const records = await this.#host.store().tasks.page({ ...before, limit })
    const last = records.at(-1)
    const items = records.filter((task) => (!state || task.state === state) && (!job || task.job === job))
    return {
      items: items.map((record) => statusOf(record, this.#host.now())),
      next: last && records.length === limit ? `${last.createdAt}-${last.id}` : null,
    }
  }
}

/** @throws INVALID_OPTION */
function checkCreate(
  where: string,
  job: unknown,
  options: CreateOptions,
  more: Readonly<Record<string, OptionKind>> = {},
): void {
  checkJob(where, job)
  const own = Object.fromEntries(CREATE_OPTIONS.map((name): [string, OptionKind] => [name, null]))
  checkOptions(where, options, { ...own, onStart: 'function', ...more })
  checkTaskOptions(options)
}

function checkId(where: string, id: string | undefined): void {
  if (id === undefined || /^[0-9a-f]{16}$/.test(id)) return
  throw invalid(`${where}: id is 16 hex digits in lower case`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}

/** A page has at most `limit` tasks; a filter leaves fewer of them. */
export interface ListOptions {
  state?: TaskState
  job?: string
  cursor?: string
  limit?: number
}

async function* listed(pages: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<unknown[]> {
  if (!isIterable(pages)) throw new HighkiqError('INVALID_JOB', 'pages must be an array or another iterable')
  for await (const page of pages) yield Array.isArray(page) ? page : [page]
}
