/** The driver for Node 20: `libsql`, a package that the app installs. */

import { HighkiqError } from '../../../job/errors.ts'
import { checkFiles } from '../../../job/open-files.ts'
import { importOptional } from '../../../load/package.ts'
import { enterNativeCall, leaveNativeCall, nativeCall } from '../../../thread.ts'
import type { SqlConnection } from '../../contract.ts'
import type { Driver, Statement, Value } from './driver.ts'

/** SQLite's result code of a statement that found the file locked. */
const BUSY = 5
const RESULT_CODES: Record<string, number> = {
  SQLITE_ERROR: 1,
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_PROTOCOL: 15,
  SQLITE_NOTADB: 26,
}

/** @throws NO_DRIVER */
export async function openLibsql(path: string): Promise<Driver> {
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
