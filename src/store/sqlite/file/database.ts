/** One connection to one file: opening, schema version, prepared statements, and error messages. */

import { HighkiqError, messageOf } from '../../../job/errors.ts'
import type { SqlConnection } from '../../contract.ts'
import { type Driver, type DriverName, isBusy, type Statement, type Value } from './driver.ts'
import { dropped, FULL, full, tooNew, tooOld, unusable, versionLost } from './errors.ts'
import { statementsFrom } from './migration-plan.ts'
import { openDriver } from './open-driver.ts'
import { hasOldTables, OLDEST_VERSION, SCHEMA_VERSION, storedVersion, versionIn } from './schema-version.ts'

export interface DatabaseOptions {
  /** A path, or `:memory:`. */
  path: string
  /** FULL: acknowledged writes survive a power cut. NORMAL: they survive the death of any process. */
  synchronous: 'FULL' | 'NORMAL'
  driver?: DriverName
  /** Pushes beyond this size reject, because of STORE_FULL; stored jobs still run. */
  maxMegabytes?: number
}

/** The bytes that the write-ahead log adds to a page. */
const FRAME_HEADER_BYTES = 24
/** A restarted log keeps this much of its file. */
const KEPT_LOG_BYTES = 16 * 1024 * 1024

/** The numbers of rows that one INSERT may have; each number is a statement of its own. */
const INSERTED_AT_ONCE = [100, 10, 1]

const ERROR = 1
/** A file that stays locked (BUSY), READONLY, IOERR, CORRUPT, CANTOPEN and NOTADB. */
const FILE_TROUBLE = new Set([5, 8, 10, 11, 14, 26])

export class Database {
  readonly path: string
  readonly #driver: Driver
  readonly #statements = new Map<string, Statement>()
  readonly #first = (sql: string) => this.first(sql)
  /** The limit for pushes. Stored jobs may exceed it, so that they can always run. */
  readonly #maxBytes: number | undefined
  /** The `data_version` at which the schema was last known to be of this version. */
  #seenVersion: number | undefined
  readonly #tables = new Map<unknown, unknown>()
  /** The channels to notify after the next commit. */
  #notifications = new Set<string>()

  private constructor(options: DatabaseOptions, driver: Driver) {
    const { path, maxMegabytes } = options
    this.path = path
    this.#driver = driver
    this.#maxBytes = maxMegabytes && maxMegabytes * 1024 * 1024
  }

  /** Opens the file, creates or migrates its schema. @throws STORE_UNUSABLE with advice in one line */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { path } = options
    let driver: Driver | undefined
    try {
      driver = await openDriver(path, options.driver)
      const db = new Database(options, driver)
      await db.#retryWhileBusy(() => db.#prepareFile(options))
      return db
    } catch (thrown) {
      const code = driver?.resultCode(thrown)
      // Explained before the driver closes its files: then there may be room for others again.
      const error = code === FULL ? full(path, thrown) : unusable(path, code, thrown)
      try {
        driver?.close()
      } catch {
        // The first error says more.
      }
      throw thrown instanceof HighkiqError ? thrown : error
    }
  }

  /** The connection for statements of the app. */
  get connection(): SqlConnection {
    return this.#driver.connection
  }

  /** Returns the tables of this class on this connection. They are made once. */
  get<T extends Tables>(Class: new (db: Database) => T): T {
    let tables = this.#tables.get(Class) as T | undefined
    if (!tables) {
      tables = new Class(this)
      this.#tables.set(Class, tables)
    }
    return tables
  }

  /** Returns a number that changes once another connection has written. */
  get dataVersion(): number {
    return this.#pragma('data_version')
  }

  /** The size of a page in the write-ahead log. A file that the user has made may have pages of any size. */
  get logPageBytes(): number {
    return this.#pragma('page_size') + FRAME_HEADER_BYTES
  }

  /**
   * Refuses to write into a file of a newer schema; call it at the beginning of each transaction that writes.
   * @throws STORE_UNUSABLE when a newer Highkiq has migrated the file since it was opened here
   */
  checkSchema(): void {
    const { dataVersion } = this
    if (dataVersion === this.#seenVersion) return
    const error = this.#tooNew(storedVersion(this.#first))
    if (error) throw error
    this.#seenVersion = dataVersion
  }

  /**
   * Checks the size limit. Call it after a push has been written, so that the error rolls it back.
   * @throws STORE_FULL beyond the limit
   */
  checkRoom(): void {
    if (this.#maxBytes === undefined) return
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count')
    if (pages * this.#pragma('page_size') <= this.#maxBytes) return
    throw new HighkiqError(
      'STORE_FULL',
      `${this.path} has reached its limit (maxMegabytes in the store's URL), nothing was stored: run the waiting jobs, or raise the limit`,
    )
  }

  /** Wakes the waiters of a channel after the next commit. */
  notify(channel: string): void {
    this.#notifications.add(channel)
  }

  /** Returns the channels to notify, each once. */
  drainNotifications(): Iterable<string> {
    const channels = this.#notifications
    this.#notifications = new Set()
    return channels
  }

  /** Runs a statement, and returns the number of rows it has changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /**
   * Runs an INSERT of one row for many rows. This costs half of one INSERT a row, and numbers are exact, which they are
   * not in JSON. `rows` holds the values of all rows, `width` values each; `shared` holds the values ?1, ?2, … of all rows.
   * Returns the number of inserted rows.
   */
  insert(sql: string, shared: readonly Value[], width: number, rows: readonly Value[]): number {
    let changes = 0
    for (let from = 0; from < rows.length; ) {
      const n = INSERTED_AT_ONCE.find((size) => size * width <= rows.length - from) as number
      changes += this.run(manyRows(sql, n), ...shared, ...rows.slice(from, from + n * width))
      from += n * width
    }
    return changes
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }

  /** Returns the first row, if there is one. */
  first<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined
  }

  /** Returns the parsed column `json` of one row. This is much faster than many cells, and keeps NUL characters. */
  json<T>(sql: string, ...values: Value[]): T | undefined {
    const row = this.first<{ json: string }>(sql, ...values)
    return row && JSON.parse(row.json)
  }

  /** Returns rows from one JSON array in a column `json`. */
  list<Row>(sql: string, ...values: Value[]): Row[] {
    return this.json<Row[]>(sql, ...values) ?? []
  }

  exec(sql: string): void {
    this.#driver.exec(sql)
  }

  /** Runs statements that read. They all see the same state of the file. */
  atOnce<T>(work: () => T): T {
    // Unlike BEGIN, this works in a transaction of the app, too.
    this.run('SAVEPOINT highkiq_read')
    let answer: T
    try {
      answer = work()
    } catch (thrown) {
      try {
        this.run('RELEASE highkiq_read')
      } catch {
        // SQLite has rolled back by itself. The first error says more.
      }
      throw thrown
    }
    this.run('RELEASE highkiq_read')
    return answer
  }

  /** Copies the log into the file, as far as readers and writers allow. */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void {
    // The statement returns a row. If nobody reads it, libsql keeps the statement open, and every later COMMIT fails.
    this.all(`PRAGMA wal_checkpoint(${mode})`)
  }

  /** Empties the log and closes the file. libsql keeps the file open until its statements are collected as garbage. */
  close(): void {
    try {
      this.checkpoint('TRUNCATE')
    } catch {
      // Another process is writing, and will empty the log.
    }
    this.#statements.clear()
    this.#driver.close()
  }

  /** Returns whether another connection has locked the file for a moment, so that the call can be repeated. */
  isBusy(thrown: unknown): boolean {
    return isBusy(this.#driver, thrown)
  }

  /** Returns an error of SQLite as one that says what to do; any other error as it is. */
  explain(thrown: unknown): unknown {
    const code = this.#driver.resultCode(thrown)
    if (code === undefined) return thrown
    if (code === FULL) return full(this.path, thrown)
    if (code === ERROR) return this.#unknownSchema() ?? thrown
    // Any other code is about a statement, not about the file, and is a mistake of the caller.
    if (!FILE_TROUBLE.has(code)) return thrown
    return unusable(this.path, code, thrown)
  }

  /** Returns an error if a newer Highkiq has renamed tables or columns, or another program has dropped the tables. */
  #unknownSchema(): HighkiqError | undefined {
    const version = versionIn(this.#first)
    return version === 0 ? dropped(this.path) : this.#tooNew(version)
  }

  /** Returns an error if the schema is newer than this one. */
  #tooNew(version: number): HighkiqError | undefined {
    return version > SCHEMA_VERSION ? tooNew(this.path, version) : undefined
  }

  /** Returns an error if the file has tables of Highkiq that can't be migrated, or whose version is not known. */
  #tooOld(version: number): HighkiqError | undefined {
    if (hasOldTables(this.#first))
      return versionLost(this.path, this.#pragma('user_version'), this.#pragma('application_id'))
    return version === 0 ? undefined : tooOld(this.path, version)
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#driver.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #pragma(name: string): number {
    return Object.values(this.first<Record<string, number>>(`PRAGMA ${name}`) ?? {})[0] ?? 0
  }

  #prepareFile(options: DatabaseOptions): void {
    // Waiting inside SQLite would block the event loop. Callers repeat a call on a timer while the file is busy.
    this.exec('PRAGMA busy_timeout = 0')
    const version = versionIn(this.#first)
    const error = this.#tooNew(version) ?? this.#otherEncoding()
    if (error) throw error
    this.exec(`PRAGMA synchronous = ${options.synchronous}`)
    // On macOS an ordinary fsync may leave data in the cache of the disk. Elsewhere this changes nothing.
    if (options.synchronous === 'FULL') this.exec('PRAGMA fullfsync = ON')
    this.exec('PRAGMA foreign_keys = ON')
    this.exec('PRAGMA temp_store = MEMORY')
    this.exec('PRAGMA cache_size = -16000')
    // See checkpoints.ts. Copying the log must never delay a connection that renews leases.
    this.exec('PRAGMA wal_autocheckpoint = 0')
    this.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`)
    if (version < SCHEMA_VERSION) this.#migrate()
    // Last, so that a file of another program which is refused stays as it is.
    this.exec('PRAGMA journal_mode = WAL')
  }

  /** Returns an error if the file does not store text as UTF-8, in which jobs are cut out of the bytes of many. */
  #otherEncoding(): HighkiqError | undefined {
    const encoding = this.first<{ encoding: string }>('PRAGMA encoding')?.encoding
    if (encoding === undefined || encoding === 'UTF-8') return undefined
    const message = `${this.path} stores text as ${encoding}, and Highkiq needs UTF-8: name another file`
    return new HighkiqError('STORE_UNUSABLE', message)
  }

  #migrate(): void {
    this.exec('BEGIN IMMEDIATE')
    try {
      // Another process may have migrated the file while this one waited for the lock.
      const version = versionIn(this.#first)
      const error = version < OLDEST_VERSION ? this.#tooOld(version) : this.#tooNew(version)
      if (error) throw error
      for (const statements of statementsFrom(version)) this.exec(statements)
      this.exec('COMMIT')
    } catch (thrown) {
      try {
        this.exec('ROLLBACK')
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full.
      }
      throw this.#nameInUse(thrown) ?? this.#brokenView(thrown) ?? thrown
    }
  }

  /** Returns an error if the schema can't be made because the user has a table or an index of one of its names. */
  #nameInUse(thrown: unknown): HighkiqError | undefined {
    const text = messageOf(thrown)
    const [name] = /\bhk_\w+/.exec(text) ?? []
    if (name === undefined || !text.includes('already') || this.#driver.resultCode(thrown) !== ERROR) return undefined
    const message = `${this.path} has ${name} of another program, and names that begin with hk_ are Highkiq's: rename it there, or name another file`
    return new HighkiqError('STORE_UNUSABLE', message, undefined, { cause: thrown })
  }

  /** Returns an error if SQLite renames no table, because a view or a trigger of the user has an error. */
  #brokenView(thrown: unknown): HighkiqError | undefined {
    const [found, kind, name] = /error in (view|trigger) (.+?)(?: after [a-z ]+)?: .+/s.exec(messageOf(thrown)) ?? []
    if (found === undefined) return undefined
    const message = `${this.path}: the ${kind} ${name} keeps Highkiq's tables from being migrated (${found}): mend it, or drop it, and start again`
    return new HighkiqError('STORE_UNUSABLE', message, undefined, { cause: thrown })
  }

  /** Used only for opening: processes that start at once all change the journal mode and the schema. */
  async #retryWhileBusy(attempt: () => void): Promise<void> {
    for (const deadline = Date.now() + 30_000; ; ) {
      try {
        return attempt()
      } catch (thrown) {
        if (!this.isBusy(thrown) || Date.now() > deadline) throw thrown
        await new Promise((resume) => setTimeout(resume, 5 + Math.random() * 20))
      }
    }
  }
}

/** The tables of one subject, as `Database.get` gives them. A class of tables has no state of its own. */
export abstract class Tables {
  protected readonly db: Database

  constructor(db: Database) {
    this.db = db
  }
}

const widened = new Map<string, string[]>()

/** Returns an INSERT with `n` rows of values. */
function manyRows(sql: string, n: number): string {
  let versions = widened.get(sql)
  if (!versions) {
    versions = []
    widened.set(sql, versions)
  }
  versions[n] ??= sql.replace(/VALUES (\([-\d?, ]+\))/, (_, row) => `VALUES ${Array(n).fill(row).join(', ')}`)
  return versions[n]
}
