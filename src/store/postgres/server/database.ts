/** One transaction on one connection: its statements, the tables of each subject, and the channels to notify after it. */

import { createHash } from 'node:crypto'
import { storedText } from './texts.ts'

/** Values of a statement. An array becomes an array of PostgreSQL. */
export type Value = string | number | boolean | Uint8Array | null | readonly (string | number | boolean | null)[]

/** The statements of a store: in its schema, and prepared under a name where the connection is this process's own. */
export class Statements {
  readonly #prefix: string
  readonly #isPrepared: boolean
  readonly #known = new Map<string, { text: string; name?: string }>()

  constructor(schema: string, isPrepared: boolean) {
    this.#prefix = `"${schema}".`
    this.#isPrepared = isPrepared
  }

  /** Returns a statement, in which each name of a table begins with `hk.`, as it is sent. */
  of(sql: string): { text: string; name?: string } {
    let statement = this.#known.get(sql)
    if (!statement) {
      const text = sql.replace(/\bhk\./g, () => this.#prefix)
      statement = this.#isPrepared ? { text, name: `hk_${createHash('sha1').update(text).digest('hex')}` } : { text }
      this.#known.set(sql, statement)
    }
    return statement
  }
}

export interface Statement {
  text: string
  /** The name under which it is prepared. */
  name?: string
  values: unknown[]
  /** Whether its rows are wanted, and not only their number. */
  hasRows: boolean
}

/** A connection of `pg`, or one of the app. */
export interface Connection {
  query(statement: Statement): Promise<{ rows: unknown[]; rowCount: number | null }>
}

export class Database {
  readonly #connection: Connection
  readonly #statements: Statements
  readonly #tables = new Map<unknown, unknown>()
  readonly #notifications = new Set<string>()

  constructor(connection: Connection, statements: Statements) {
    this.#connection = connection
    this.#statements = statements
  }

  /** Returns the tables of this class. They are made once. */
  get<T extends Tables>(Class: new (db: Database) => T): T {
    let tables = this.#tables.get(Class) as T | undefined
    if (!tables) {
      tables = new Class(this)
      this.#tables.set(Class, tables)
    }
    return tables
  }

  /** Wakes the waiters of a channel after the commit. */
  notify(channel: string): void {
    this.#notifications.add(channel)
  }

  get notifications(): ReadonlySet<string> {
    return this.#notifications
  }

  /** Runs a statement, and returns the number of rows it has changed. */
  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.#query(sql, values, false)).rowCount ?? 0
  }

  async all<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#query(sql, values, true)).rows as Row[]
  }

  /** Returns the first row, if there is one. */
  async first<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, ...values))[0]
  }

  #query(sql: string, values: Value[], hasRows: boolean) {
    return this.#connection.query({ ...this.#statements.of(sql), values: values.map(storable), hasRows })
  }
}

function storable(value: Value): unknown {
  if (typeof value === 'string') return storedText(value)
  // `pg` would quote each number.
  if (Array.isArray(value)) return value.every(isNumber) ? `{${value.join()}}` : value.map(storable)
  return value
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

/** The tables of one subject, as `Database.get` gives them. A class of tables has no state of its own. */
export abstract class Tables {
  protected readonly db: Database

  constructor(db: Database) {
    this.db = db
  }
}
