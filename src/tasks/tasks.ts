import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AppPort } from '../app/port.ts'
import { checkJob, type Job } from '../client/job.ts'
import type { FileFor, SchemaOf } from '../job/definition.ts'
import { invalidJob } from '../job/errors.ts'
import { isIterable } from '../job/json.ts'
import { checkOptions, checkText, given, type OptionKind } from '../job/options.ts'
import { newTaskId } from '../job/payload.ts'
import { addToTask, type CreateTask, createTask } from './create.ts'
import { type EndedRow, failRow, finishRow } from './deferred.ts'
import { type DryRun, dryRun } from './dry-run.ts'
import { claimFile, type FileClaim } from './duplicate-import.ts'
import { eventOf, type TaskEvent } from './event.ts'
import { EXPORT_FILE, type ExportFileOptions, exportMeta } from './export.ts'
import { checkSource, type ImportRows, openImport, READING, READING_NAMES } from './import.ts'
import { LANGUAGE_CODES, type Language } from './languages/index.ts'
import { revokeListLinks } from './link.ts'
import { type ListOptions, listTasks, type TaskPage } from './list.ts'
import { appMessage } from './messages.ts'
import { type ImportedFile, metaOf } from './meta.ts'
import { checkTaskOptions, TASK_OPTIONS, type TaskOptions } from './options.ts'
import { checkSameTable } from './resumed-file.ts'
import { asRows, findTask, type Rows } from './rows.ts'
import type { FileFormat, FormatOf } from './spreadsheet/format.ts'
import type { Source } from './spreadsheet/source.ts'
import { Task } from './task.ts'

export interface CreateOptions extends TaskOptions {
  /** Called with the task once its first rows are stored, while others are still being read. */
  onStart?: (task: Task) => void
}

const CREATE_NAMES = [...Object.keys(TASK_OPTIONS), 'onStart'] as (keyof CreateOptions)[]
const ID: OptionKind = [(id) => typeof id === 'string' && /^[0-9a-f]{16}$/.test(id), '16 hex digits in lower case']
const IMPORT_OPTIONS = {
  ...READING,
  dryRun: 'flag',
  lang: LANGUAGE_CODES,
  allowDuplicate: 'flag',
  resume: 'text',
  id: ID,
  file: null,
} as const
const FILE: Record<keyof ImportedFile, OptionKind> = {
  name: 'text',
  bytes: [isSize, 'a number of bytes, 0 or more'],
  by: 'text',
}
const EXPORT_OPTIONS: Readonly<Record<string, OptionKind>> = {
  ...EXPORT_FILE,
  rowsPerJob: [() => false, 'left out: each page is a job of its own'],
}

export type ExportOptions = CreateOptions & { rowsPerJob?: undefined } & ExportFileOptions

export interface ImportOptions extends CreateOptions, ImportRows {
  /** Reads and checks the file without pushing anything. */
  dryRun?: boolean
  /** The language of the problems that a dry run finds, except for messages of your own; default English. */
  lang?: Language
  /** Imports the file even if the same bytes were imported within the last 24 hours. */
  allowDuplicate?: boolean
  /** Resumes this interrupted import with the same file. Rows already stored are skipped. */
  resume?: string
  /** The task's id, if it was chosen in advance: 16 hex digits. */
  id?: string
  /** What the dashboard shows about the file: its name, its size, and who uploaded it. */
  file?: ImportedFile
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
  create<R>(
    job: Job<[rows: R[]]>,
    rows: Iterable<ArgsOfRow<NoInfer<R>>> | AsyncIterable<ArgsOfRow<NoInfer<R>>>,
    options: CreateOptions & { id?: string; rowsPerJob: number },
  ): Promise<Task>
  create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<NoInfer<Args>> | AsyncIterable<NoInfer<Args>>,
    options?: CreateOptions & { id?: string; rowsPerJob?: undefined },
  ): Promise<Task>
  create<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<unknown[]> | AsyncIterable<unknown[]>,
    options: CreateOptions & { id?: string } = {},
  ): Promise<Task> {
    return this.#app.client.target.apart('tasks.create', async () => {
      checkCreate('tasks.create', job, options, { id: ID })
      return this.#create(job as unknown as Job<never[]>, asRows(rows, options.maxRows), options)
    })
  }

  /**
   * Imports a CSV, XLSX or NDJSON file: one job for each row. The handler gets `(ctx, row)`, an object by header; with
   * `rowsPerJob` it gets `(ctx, rows)`. A row is what the schema (`validate`) returns; without one, each value of a CSV file
   * is a string. With `dryRun` the file is only read and checked.
   * @throws INVALID_FILE, TOO_MANY_ROWS; rows before the error stay, in a task that is `interrupted`.
   *   ALREADY_IMPORTED: the same bytes (of a path, a Buffer or a workbook) within 24 hours, without `allowDuplicate`
   */
  import<
    R extends object,
    Defined,
    From extends Source,
    Schema extends StandardSchemaV1 = never,
    Format extends FileFormat = FormatOf<From>,
    IsDry extends boolean = false,
  >(
    job: Job<[R]> & Defined,
    source: From & FileFor<R, Defined, Schema, Format>,
    options: ImportOptions & { validate?: Schema & SchemaOf<R, Schema>; format?: Format; dryRun?: IsDry } = {},
  ): Promise<IsDry extends true ? DryRun : Task> {
    const imported = this.#app.client.target.apart('tasks.import', () =>
      this.#import(job as unknown as Job<never[]>, source, options),
    )
    return imported as Promise<IsDry extends true ? DryRun : Task>
  }

  async #import(job: Job<never[]>, source: Source, options: ImportOptions): Promise<Task | DryRun> {
    checkCreate('tasks.import', job, options, IMPORT_OPTIONS)
    checkSource('tasks.import: the second argument', source)
    const {
      dryRun: only = false,
      lang,
      allowDuplicate = false,
      resume,
      id = newTaskId(),
      file: about,
      ...rest
    } = options
    if (about !== undefined) checkOptions('tasks.import: file', about, FILE)
    const interrupted = resume === undefined ? undefined : await findTask(this.#app, resume)
    const { validate } = job.definition.options
    const columns = interrupted && metaOf(interrupted).mapping
    const reading = { ...given({ validate, columns }), ...given(rest, READING_NAMES) } as ImportRows
    const { store, now } = this.#app
    const file = await openImport(source, reading, now)
    if (only) return dryRun(file, reading, lang)
    const { header, format, encoding } = file
    const known = await factsOf(source)
    const aboutFile = {
      format,
      columns: header,
      file: { ...known, ...about },
      mapping: rest.columns,
      ...given(rest, ['rowKey', 'maxRows']),
      ...(reading.validate ? { validated: true as const } : {}),
    }
    let claim: FileClaim | undefined
    try {
      if (interrupted) {
        checkSameTable(interrupted, file)
        await addToTask(this.#app, interrupted, job, file.rows, 'create')
        return this.get(interrupted.id)
      }
      const digest = await file.digest()
      const key = `import:${job.name}:${digest}:${rest.sheet ?? ''}`
      if (digest) claim = await claimFile(store, { key, id, now, allowDuplicate })
      const confirm = claim && (() => claim?.confirm())
      await this.#create(job, file.rows, {
        ...given({ name: known.name, beforeCreate: confirm }),
        ...given(rest, CREATE_NAMES),
        id,
        about: () => given({ ...aboutFile, encoding: encoding() }),
      } as CreateOptions & CreateTask)
      return new Task(this.#app, id, encoding())
    } catch (thrown) {
      // The claim of the bytes stays only if the task exists.
      const made = claim && (await store.tasks.find(id).catch(() => undefined))
      if (made === null) await claim?.undo().catch(() => {})
      throw thrown
    } finally {
      claim?.end()
      await file.close()
    }
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
    pages: Iterable<NoInfer<Args | Args[0]>> | AsyncIterable<NoInfer<Args | Args[0]>>,
    options: ExportOptions = {},
  ): Promise<Task> {
    return this.#app.client.target.apart('tasks.export', async () => {
      checkCreate('tasks.export', job, options, EXPORT_OPTIONS)
      const { format, columns, artifacts, ...rest } = options
      const file = given({ format, columns, artifacts }) as ExportFileOptions
      return this.#create(job as unknown as Job<never[]>, asRows(listed(pages), options.maxRows), {
        ...rest,
        about: () => exportMeta(file),
        members: { hk_part: true },
      })
    })
  }

  /** Returns the task with this id without asking the store; `status()` tells whether it exists. */
  get(id: string): Task {
    checkText('tasks.get: the id of a task', id)
    return new Task(this.#app, id)
  }

  /** Returns the event with this jid, or null. `lang` is the language of messages that are not the app's. */
  async event(jid: string, options: { lang?: Language } = {}): Promise<TaskEvent | null> {
    checkText('tasks.event: a jid', jid)
    checkOptions('tasks.event', options, { lang: LANGUAGE_CODES })
    const { store } = this.#app
    const event = await store.tasks.event(jid)
    const task = event && (await store.tasks.find(jid.slice(0, 16)))
    return event && task ? eventOf(task.job, event, options.lang) : null
  }

  /** Adds a message to an event from outside its handler. @throws UNKNOWN_TASK */
  async message(jid: string, text: string): Promise<void> {
    checkText('tasks.message: a jid', jid)
    checkText('tasks.message: a message', text)
    await this.#app.store.tasks.addMessage(jid, appMessage(this.#app.now(), text))
  }

  /**
   * Ends a row whose handler called `ctx.defer`: the row is `finished`, with this result (JSON, up to 16 kB). Of several
   * calls the first one counts. @throws UNKNOWN_TASK, NOT_DEFERRED, INVALID_OPTION
   */
  async finish(jid: string, result?: unknown): Promise<EndedRow> {
    return finishRow(this.#app, jid, result)
  }

  /** Ends such a row as `failed`, with a message and a code. @throws UNKNOWN_TASK, NOT_DEFERRED, INVALID_OPTION */
  async fail(jid: string, message: string, code?: string): Promise<EndedRow> {
    return failRow(this.#app, jid, message, code)
  }

  async #create(job: Job<never[]>, rows: Rows, { onStart, ...options }: CreateOptions & CreateTask): Promise<Task> {
    const started = onStart && ((id: string) => onStart(this.get(id)))
    return this.get(await createTask(this.#app, job, rows, { ...options, started }))
  }

  /**
   * Ends all links to the list of the tasks with exactly these values in their `meta`, and the links to tasks that this
   * list showed. Links to other lists, and those of `task.link`, stay. @throws INVALID_OPTION
   *
   * @example await hq.tasks.revokeLinks({ user: 7 })
   */
  revokeLinks(meta: Readonly<Record<string, string | number>>): Promise<void> {
    return revokeListLinks(this.#app, meta)
  }

  /** Lists tasks, newest first. `next` is the cursor of the next page. @throws INVALID_OPTION */
  list(options: ListOptions = {}): Promise<TaskPage> {
    return listTasks(this.#app, options)
  }
}

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Returns what is known about a file before it is read. */
async function factsOf(source: Source): Promise<ImportedFile> {
  if (source instanceof Uint8Array) return { bytes: source.length }
  if (typeof source !== 'string') return {}
  const size = await stat(source).then(
    ({ size }) => ({ bytes: size }),
    () => ({}),
  )
  return { name: basename(source), ...size }
}

/** @throws INVALID_OPTION */
function checkCreate(
  where: string,
  job: unknown,
  options: CreateOptions,
  more: Readonly<Record<string, OptionKind>>,
): void {
  checkJob(where, job)
  checkTaskOptions(where, options, { onStart: 'function', ...more })
}

async function* listed(pages: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<unknown[]> {
  if (!isIterable(pages)) throw invalidJob('pages must be an array or another iterable')
  for await (const page of pages) yield Array.isArray(page) ? page : [page]
}
