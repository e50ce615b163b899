/**
 * What Highkiq needs of a SQLite driver. There are two drivers: `node:sqlite`, part of Node from 22.13 on, and `libsql`
 * for Node 20.
 */

import { HighkiqError } from '../../../job/errors.ts'
import { checkFiles } from '../../../job/open-files.ts'
import { importOptional, importUnbundled } from '../../../load/package.ts'
import { enterNativeCall, leaveNativeCall, nativeCall } from '../../../thread.ts'
import type { SqlConnection } from '../../contract.ts'

export type Value = string | number | bigint | Uint8Array | null

export interface Statement {
  /** Runs the statement, and returns the number of rows it has changed. */
  run(...values: Value[]): { changes: number | bigint }
  /** Returns rows as objects by column name. */
  all(...values: Value[]): unknown[]
  /** Returns the first row. This takes half the time of `all`. */
  get(...values: Value[]): unknown
}

export interface Driver {
  readonly name: string
  /**
   * The connection for statements of the app: the driver's own object, or with libsql one that also ends statements whose rows
   * are not all read.
   */
  readonly connection: SqlConnection
  /**
   * Runs several statements without parameters. BEGIN and COMMIT go through it: with libsql, a prepared BEGIN that found the
   * file locked would show later reads an old state of the file.
   */
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
  /** Returns SQLite's primary result code of an error of this driver (5 = BUSY, 13 = FULL, …); undefined: it has none. */
  resultCode(thrown: unknown): number | undefined
}

export type DriverName = 'node' | 'libsql'

/** Opens a file or `:memory:` with the named driver, or with the one that this Node has. */
export async function openDriver(path: string, name?: DriverName): Promise<Driver> {
  return driverName(name) === 'node' ? openNodeSqlite(path) : openLibsql(path)
}

/** Returns the driver that a store uses for which `name` is chosen. */
export function driverName(name?: DriverName): DriverName {
  return name ?? (hasNodeSqlite() ? 'node' : 'libsql')
}

/** Returns whether this is Node 22.13 or later. In 22.5 to 22.12 the module is behind a flag. */
function hasNodeSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

async function openNodeSqlite(path: string): Promise<Driver> {
  const { DatabaseSync } = (await withoutExperimentalWarning(() => importUnbundled('node:sqlite'))) as {
    DatabaseSync: new (path: string) => { exec(sql: string): void; prepare(sql: string): Statement; close(): void }
  }
  const db = new DatabaseSync(path)
  return {
    name: 'node:sqlite',
    connection: db as unknown as SqlConnection,
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
    resultCode: (thrown) => {
      const { errcode, code, message = '' } = (thrown ?? {}) as { errcode?: unknown; code?: unknown; message?: string }
      if (typeof errcode === 'number') return errcode & 0xff
      // An error of `exec` on Deno has only the message.
      return code === 'ERR_SQLITE_ERROR' ? CODES_BY_MESSAGE[message] : undefined
    },
  }
}

/** Suppresses the warning of Node 22 to 24 that `node:sqlite` is experimental, about which a user can do nothing. */
async function withoutExperimentalWarning<T>(load: () => Promise<T>): Promise<T> {
  const emit = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    return (emit as (...all: unknown[]) => void).call(process, warning, ...rest)
  }) as typeof process.emitWarning
  try {
    return await load()
  } finally {
    process.emitWarning = emit
  }
}

/** @throws NO_DRIVER */
async function importLibsql(): Promise<typeof import('libsql')> {
  checkFiles('libsql')
  enterNativeCall()
  try {
    const found = await importOptional('libsql')
    if (!found) throw new Error('libsql is not installed')
    return found as typeof import('libsql')
  } catch (cause) {
    const message = `Node ${process.versions.node} has no SQLite built in: run "npm i libsql" (or use Node 22.13 or later, which needs nothing)`
    throw new HighkiqError('NO_DRIVER', message, undefined, { cause })
  } finally {
    leaveNativeCall()
  }
}

async function openLibsql(path: string): Promise<Driver> {
  const Database = await importLibsql()
  const db = nativeCall(() => new Database(path))
  const calls = new LibsqlCalls()
  return {
    name: 'libsql',
    connection: connectionOfApp(db) as unknown as SqlConnection,
    exec: (sql) => {
      calls.run(() => db.exec(sql))
    },
    prepare: (sql) => libsqlStatement(db, sql, calls),
    close: () => {
      nativeCall(() => db.close())
    },
    resultCode: libsqlCode,
  }
}

/** The calls of one connection. */
class LibsqlCalls {
  /**
   * Statements that found the file locked. For SQLite each still runs: its lock outlasts every transaction, and the
   * connection sees an old state of the file, in which it can't write. Running it to its end frees the connection.
   */
  readonly #unfinished = new Map<LibsqlStatement, Value[]>()

  run<T>(work: () => T): T {
    if (this.#unfinished.size > 0) this.#finish()
    return nativeCall(work)
  }

  /** Adds a statement that found the file locked. */
  addUnfinished(prepared: LibsqlStatement, values: Value[]): void {
    this.#unfinished.set(prepared, values)
  }

  #finish(): void {
    for (const [prepared, values] of this.#unfinished) {
      try {
        nativeCall(() => prepared.all(values))
        this.#unfinished.delete(prepared)
      } catch (thrown) {
        if (libsqlCode(thrown) !== BUSY) this.#unfinished.delete(prepared)
      }
    }
  }
}

function libsqlStatement(db: LibsqlDatabase, sql: string, calls: LibsqlCalls): Statement {
  const prepare = (): LibsqlStatement =>
    calls.run(() => {
      const made = db.prepare(sql)
      // libsql makes arrays of rows faster than objects.
      return made.reader ? made.raw() : made
    })
  const first = prepare()
  let statement: LibsqlStatement | undefined = first
  const names = first.reader ? calls.run(() => first.columns()).map(({ name }) => name) : []
  const rowOf = (cells: unknown) => {
    const row: Record<string, unknown> = {}
    for (const [i, name] of names.entries()) row[name] = (cells as unknown[])[i]
    return row
  }
  // The values are one array, because libsql would flatten several arguments, which costs as much as binding them.
  const read = <T>(values: Value[], work: (prepared: LibsqlStatement) => T): T => {
    statement ??= prepare()
    const prepared = statement
    try {
      return calls.run(() => work(prepared))
    } catch (thrown) {
      if (libsqlCode(thrown) === BUSY) calls.addUnfinished(prepared, values)
      // libsql would throw any other error again at each later `get`.
      else statement = undefined
      throw thrown
    }
  }
  return {
    run: (...values) => {
      statement ??= prepare()
      const prepared = statement
      // A dropped statement would keep its lock on the file, so this one is used again after an error.
      return calls.run(() => prepared.run(values))
    },
    all: (...values) => read(values, (prepared) => prepared.all(values)).map(rowOf),
    get: (...values) => {
      const cells = read(values, (prepared) => prepared.get(values))
      return cells && rowOf(cells)
    },
  }
}

/**
 * The connection for the app. libsql does not end a statement with rows whose `iterate` the app has left, or that it has
 * run with `run`. For SQLite it still runs, so that the transaction can't commit, or the connection sees an old state of the
 * file, in which it can't write. Here such a statement ends.
 */
function connectionOfApp(db: LibsqlDatabase): LibsqlDatabase {
  const prepare = (sql: string) => {
    const statement = db.prepare(sql)
    if (!statement.reader) return statement
    const iterate = statement.iterate.bind(statement)
    return Object.assign(statement, {
      iterate: (...values: unknown[]) => {
        const rows = iterate(...values) as LibsqlRows
        const end = (value?: unknown) => {
          try {
            while (!rows.next().done) {
              if (!rows.nextRows || rows.nextRowIndex !== rows.nextRows.length) continue
              // All rows fetched so far are read, so the statement still runs: `get` goes on with it for one row and ends it.
              // On a statement at its end `get` would run it again, which could insert its rows again.
              statement.get([])
              break
            }
          } catch {
            // An error ends it, too, and this row is none that the app wanted.
          }
          return { done: true, value }
        }
        return Object.assign(rows, { return: end })
      },
      run: (...values: unknown[]) => {
        const counts = db.prepare('SELECT total_changes(), changes(), last_insert_rowid()').raw().safeIntegers()
        const read = () => (counts.get() as bigint[]).map(Number)
        const [before] = read()
        statement.all(...values)
        const [after, changes, lastInsertRowid] = read()
        return { changes: after === before ? 0 : changes, lastInsertRowid }
      },
    })
  }
  return Object.assign(Object.create(db), { prepare })
}

/** libsql fetches the rows of `iterate` by the hundred. */
type LibsqlRows = IterableIterator<unknown> & { nextRows?: unknown[]; nextRowIndex?: number }
type LibsqlDatabase = InstanceType<typeof import('libsql')>
type LibsqlStatement = ReturnType<LibsqlDatabase['prepare']>

function libsqlCode(thrown: unknown): number | undefined {
  const { code, rawCode } = (thrown ?? {}) as { code?: unknown; rawCode?: unknown }
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return undefined
  if (typeof rawCode === 'number') return rawCode & 0xff
  return RESULT_CODES[code]
}

const BUSY = 5
/** SQLite's messages for errors of statements that begin or end a transaction, or set up the connection. */
const CODES_BY_MESSAGE: Record<string, number> = {
  'database is locked': BUSY,
  'database table is locked': 6,
  'attempt to write a readonly database': 8,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'locking protocol': 15,
  'file is not a database': 26,
}
const RESULT_CODES: Record<string, number> = {
  SQLITE_ERROR: 1,
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_PROTOCOL: 15,
  SQLITE_NOTADB: 26,
}
