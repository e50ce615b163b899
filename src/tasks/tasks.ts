import { basename } from 'node:path'
import type { AppPort } from '../app/port.ts'
import type { Job } from '../client/job.ts'
import { HighkiqError } from '../job/errors.ts'
import { checkOptions, checkText, given, type OptionKind, shown } from '../job/options.ts'
import { newTaskId } from '../job/payload.ts'
import { type Store, TASK_STATES, type TaskRecord, type TaskState } from '../store/contract.ts'
import { type CreateTask, createTask, resumeAdding } from './create.ts'
import { type DryRun, dryRun } from './dry-run.ts'
import { claimFile } from './duplicate-import.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { type ExportFileOptions, exportMeta } from './export.ts'
import { checkSource, IMPORT_OPTIONS, type ImportRows, type OpenImport, openImport } from './import.ts'
import { appMessage } from './messages.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { checkJob, checkTaskOptions, TASK_OPTIONS, type TaskOptions } from './options.ts'
import { checkSameTable } from './resumed-file.ts'
import { asRows, isIterable, type Rows, unknownTask } from './rows.ts'
import type { Source } from './spreadsheet/source.ts'
import { statusOf, Task, type TaskStatus } from './task.ts'

export interface CreateOptions extends TaskOptions {
  /** Called with the task once its first rows are stored, while others are still being read. */
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

export type ExportOptions = CreateOptions & { rowsPerJob?: undefined } & ExportFileOptions

export interface ImportOptions extends CreateOptions, ImportRows {
  /** Reads and checks the file without pushing anything. */
  dryRun?: boolean
  /** Imports the file even if the same bytes were imported within the last 24 hours. */
  allowDuplicate?: boolean
  /** Resumes this interrupted import with the same file. Rows already stored are skipped. */
  resume?: string
  /** The task's id, if it was chosen in advance: 16 hex digits. */
  id?: string
}

/** The arguments that give a row of a list: the row as the only argument; a list also as the arguments. */
export type ArgsOfRow<R> = [row: R] | (R extends unknown[] ? R : never)

/** `hq.tasks`: creates and finds tracked tasks, which run many jobs as one. */
export class Tasks {
  readonly #app: AppPort

  constructor(app: AppPort) {
    this.#app = app
  }

  /**
   * Creates a task with one job for each element of `rows`, its arguments. Resolves when all rows are stored; jobs run
   * meanwhile. `id` is the task's id, if it was chosen in advance (16 hex digits). @throws TASK_TAKEN_OVER if it exists
   *
   * With `rowsPerJob` the handler gets `(ctx, rows)`: for each row its only argument, or the list of its arguments.
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
    return this.#app.client.target.apart('tasks.create', async () => {
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
   * Imports a CSV, XLSX or NDJSON file: one job for each row. The handler gets `(ctx, row)`, an object by header; with
   * `rowsPerJob` it gets `(ctx, rows)`. With `dryRun` the file is only read and checked.
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
    return this.#app.client.target.apart('tasks.import', () =>
      this.#import(job as unknown as Job<never[]>, source, options),
    )
  }

  async #import(job: Job<never[]>, source: Source, options: ImportOptions): Promise<Task | DryRun> {
    checkCreate('tasks.import', job, options, IMPORTED)
    checkSource('tasks.import: the second argument', source)
    const { dryRun: only = false, allowDuplicate = false, resume, id = newTaskId(), ...rest } = options
    checkId('tasks.import', id)
    const { validate } = job.definition.options
    const interrupted = resume === undefined ? undefined : await this.#record(resume)
    const mapping = interrupted && metaOf(interrupted).mapping
    const reading = {
      ...(validate ? { validate } : {}),
      ...(mapping ? { columns: mapping } : {}),
      ...given(rest, IMPORT_OPTIONS),
    }
    const file = await openImport(source, reading, this.#app.now)
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
    let releaseClaim: (() => Promise<void>) | undefined
    try {
      if (interrupted) return await this.#resume(interrupted, job, file)
      releaseClaim = await this.#claim(id, job.name, file, { sheet: rest.sheet, allowDuplicate })
      await this.#create(
        job,
        file.rows,
        { ...name, ...given(rest, CREATE_OPTIONS) },
        { id, meta: () => ({ ...meta, encoding: file.encoding() }) },
      )
      return new Task(this.#app, id, file.encoding())
    } catch (thrown) {
      // The claim of the bytes stays only if the task exists.
      const made = releaseClaim && (await this.#store.tasks.find(id).catch(() => undefined))
      if (made === null) await releaseClaim?.().catch(() => {})
      throw thrown
    } finally {
      await file.close()
    }
  }

  async #resume(record: TaskRecord, job: Job<never[]>, file: OpenImport): Promise<Task> {
    checkSameTable(record, file)
    await resumeAdding(this.#app, record, job, file.rows)
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
      now: this.#app.now(),
      allowDuplicate,
    })
  }

  /**
   * Exports a file: one job for each page, which returns the rows of its page (lists of cells, or objects).
   * `task.download()` returns them as one file in the order of the pages. A page that is not a list of arguments is the
   * only argument.
   *
   * @example const task = await hq.tasks.export(ExportPage, pages, { format: 'csv', columns: ['id', 'name'] })
   */
  export<Args extends unknown[]>(
    job: Job<Args, readonly (object | readonly unknown[])[]>,
    pages: Iterable<Args | Args[0]> | AsyncIterable<Args | Args[0]>,
    options: ExportOptions = {},
  ): Promise<Task> {
    return this.#app.client.target.apart('tasks.export', async () => {
      checkCreate('tasks.export', job, options, EXPORTED)
      if (options.rowsPerJob !== undefined)
        throw invalid('tasks.export: rowsPerJob is not allowed: each page is a job of its own')
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

  /** Returns the task with this id without asking the store; `status()` tells whether it exists. */
  get(id: string): Task {
    checkText('tasks.get: the id of a task', id)
    return new Task(this.#app, id)
  }

  /** Returns the event with this jid, or null. */
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
    await this.#app.store.tasks.addMessage(jid, appMessage(this.#app.now(), text))
  }

  get #store(): Store {
    return this.#app.store
  }

  async #create(
    job: Job<never[]>,
    rows: Rows,
    { onStart, ...options }: CreateOptions,
    about: Pick<CreateTask, 'id' | 'meta' | 'members'> = {},
  ): Promise<Task> {
    const started = onStart && ((id: string) => onStart(this.get(id)))
    return this.get(await createTask(this.#app, job, rows, { ...options, ...about, started }))
  }

  /** Lists tasks, newest first. `next` is the cursor of the next page. @throws INVALID_OPTION */
  async list(options: ListOptions = {}): Promise<{ items: TaskStatus[]; next: string | null }> {
    checkOptions('tasks.list', options, { state: TASK_STATES, job: 'text', cursor: null, limit: 'count' })
    const { state, job, cursor, limit = 25 } = options
    const [, createdAt, id] = /^(\d+)-([0-9a-f]{16})$/.exec(cursor ?? '') ?? []
    if (cursor !== undefined && !id)
      throw invalid(`tasks.list: cursor must be the \`next\` of the answer before (got ${shown(cursor)})`)
    const before = createdAt && id ? { before: { createdAt: Number(createdAt), id } } : {}
    const records = await this.#app.store.tasks.page({ ...before, limit })
    const last = records.at(-1)
    const items = records.filter((task) => (!state || task.state === state) && (!job || task.job === job))
    return {
      items: items.map((record) => statusOf(record, this.#app.now())),
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
  throw invalid(`${where}: id must be 16 hex digits in lower case (got ${shown(id)})`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}

/** Options of `list`. A page has at most `limit` tasks; `state` and `job` leave fewer of them. */
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
