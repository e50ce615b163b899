/** The server of a store, reached when it is first needed. A read sees one state of it; a write is all or nothing. */

import type { Client, Pool, PoolClient } from 'pg'
import { HighkiqError } from '../../../job/errors.ts'
import type { StepsOptions } from '../../../job/push-steps.ts'
import { within } from '../../../job/wait.ts'
import type { MigrationPlan } from '../../contract.ts'
import { Database, Statements } from './database.ts'
import { enderOf } from './ending.ts'
import {
  closedError,
  endsConnection,
  explain,
  explainPush,
  isLockTimeout,
  isLost,
  isMaybeStored,
  isRepeatable,
  noteMaybeStored,
} from './errors.ts'
import { writerLockOf } from './lock.ts'
import { migrate, planMigration, versionOf } from './migrate.ts'
import { channelOf, type Notification, Notifier } from './notifier.ts'
import { configOf, loadPg, onConnection, openPool } from './pg.ts'
import { SCHEMA_VERSION } from './schema-version.ts'
import type { PostgresOptions } from './url.ts'
import { Writer } from './writer.ts'

/** For this many seconds a call whose caller waits for it tries to write. */
export const ANSWER_SECONDS = 5

/** PostgreSQL's code of an error about a limit of the server. */
const TOO_MUCH = '54000'
/** A statement without an answer for this long ends its connection. */
const QUERY_SECONDS = 30
/** The longest time for which `close` waits for writes; a server that does not answer is given up then. */
const CLOSE_MS = 6000
/** How often a single statement runs that a deadlock ends. */
const MOST_ATTEMPTS = 5

/** A longer wait for a table fails: an app or an administrator has locked it. */
const LOCK_TIMEOUT = "lock_timeout = '5s'"
/** PostgreSQL estimates some short reads of thousands of queues so high that compiling them takes five times as long as they do. */
const NO_JIT = 'jit = off'
/**
 * The settings of a session. A role or a database may have another default level, with which a statement does not see what was
 * committed while it waited; and a search_path with functions of the app that have the names of PostgreSQL's.
 */
const SESSION = `SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog, pg_temp; SET ${LOCK_TIMEOUT}; SET ${NO_JIT}`
const READ = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL ${LOCK_TIMEOUT}; SET LOCAL ${NO_JIT}`

interface Opened {
  pool: Pool
  endPool: (ms: number) => Promise<void>
  statements: Statements
  writer: Writer
  notifier: Notifier
}

export class StoreServer {
  readonly options: PostgresOptions
  /** The number of the advisory lock of the writers. */
  readonly lock: number
  /** How `inSteps` reads the errors of this server. */
  readonly stepsOptions: StepsOptions
  readonly #warn: ((message: string) => void) | undefined
  #opening: Promise<Opened> | undefined
  #lostAt = Number.NEGATIVE_INFINITY
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions, warn?: (message: string) => void) {
    this.options = options
    this.lock = writerLockOf(options.schema)
    this.stepsOptions = { maybeDone: isMaybeStored, explain: (thrown) => explainPush(options.url, thrown) }
    this.#warn = warn
  }

  /** When a connection was lost last, on the monotonic clock: since then another server may answer. */
  get lostAt(): number {
    return this.#lostAt
  }

  /** Runs `work` in a transaction that writes. @throws STORE_TIMEOUT when it could not begin within `seconds` */
  async write<T>(work: (db: Database) => T | Promise<T>, seconds = Number.POSITIVE_INFINITY): Promise<T> {
    const { writer } = await this.#opened()
    return writer.write(work, seconds)
  }

  /** Runs `work`, which sees one state of the database. A read does not wait for writers. */
  async read<T>(work: (db: Database) => T | Promise<T>): Promise<T> {
    const { pool, statements } = await this.#opened()
    const client = await this.#connect(pool)
    // The first statement is sent with the BEGIN, and no caller waits for the COMMIT. If the BEGIN fails, so does the statement.
    client.query(READ).catch(() => {})
    const end = (how: 'COMMIT' | 'ROLLBACK') => {
      client.query(how).then(
        () => client.release(),
        (error) => client.release(error),
      )
    }
    try {
      const answer = await work(new Database(client, statements))
      end('COMMIT')
      return answer
    } catch (thrown) {
      end('ROLLBACK')
      throw explain(this.options.url, thrown)
    }
  }

  /**
   * Runs `work`, which is a single statement, and so needs no transaction. Then it wakes the waiters of the channels, in this
   * process and in others. If `work` gets a notification, its statement sends it.
   */
  async runOne<T>(
    work: (db: Database, within?: Notification) => Promise<T>,
    channels: readonly string[] = [],
  ): Promise<T> {
    const { notifier } = await this.#opened()
    return notifier.notifyWith(channels, async (within) => {
      try {
        return await this.#repeated((db) => work(db, within))
      } catch (thrown) {
        // The server's queue of notifications is full, because a program does not read its own. Waiters ask at intervals.
        if (!within || (thrown as { code?: string }).code !== TOO_MUCH) throw thrown
        return await this.#repeated((db) => work(db))
      }
    })
  }

  async #repeated<T>(work: (db: Database) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#runOnce(work)
      } catch (thrown) {
        // A statement that failed by a deadlock was rolled back.
        if (!isRepeatable(thrown) || isLockTimeout(thrown) || attempt === MOST_ATTEMPTS)
          throw explain(this.options.url, thrown)
      }
    }
  }

  async #runOnce<T>(work: (db: Database) => Promise<T>): Promise<T> {
    const { pool, statements, notifier } = await this.#opened()
    const client = await this.#connect(pool)
    try {
      const answer = await work(new Database(client, statements))
      client.release()
      return answer
    } catch (thrown) {
      const ends = endsConnection(thrown)
      client.release(ends)
      if (ends) this.#noteLost(notifier, thrown)
      if (!isLost(thrown)) throw thrown
      const error = explain(this.options.url, thrown)
      noteMaybeStored(error)
      throw error
    }
  }

  /** Wakes the waiters of the channels, here and in other processes. */
  async notify(channels: readonly string[]): Promise<void> {
    const { notifier } = await this.#opened()
    notifier.notify(channels)
  }

  /** Waits for a notification of one of the channels, or until it is time to ask; see `Notifier.wait`. */
  async wait(channels: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    const { notifier } = await this.#opened()
    await notifier.wait(channels, ms, signal)
  }

  /**
   * Calls `read` until it returns something, again after each notification of one of the channels; at the latest after `ms`,
   * on abort, or when the store is closed. No notification is missed while it reads.
   */
  async readUntil<T>(
    channels: readonly string[],
    ms: number,
    signal: AbortSignal,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (ms <= 0) return await read()
    const { notifier } = await this.#opened()
    const end = performance.now() + ms
    const watch = notifier.watch(channels)
    try {
      for (;;) {
        const found = await read()
        const left = end - performance.now()
        if (found !== undefined || left <= 0 || signal.aborted) return found
        await watch.next(left, signal)
        if (this.#closed) return undefined
      }
    } finally {
      watch.end()
    }
  }

  async open(): Promise<void> {
    await this.#opened()
  }

  /**
   * Resolves when each write made so far is stored or, after 5 seconds, rejected. A second call resolves at the same time.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#closed = true
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    if (!opened) return
    const { writer, notifier, endPool } = opened
    const end = performance.now() + CLOSE_MS
    const written = writer.close()
    await within(CLOSE_MS, written)
    await notifier.close()
    await endPool(Math.max(0, end - performance.now()))
    await written
  }

  /** Returns what `open` would do to the schema. */
  planMigration(): Promise<MigrationPlan> {
    return onConnection(this.options, (client) => planMigration(client, this.options))
  }

  /** Notes that a connection was ended. If its server takes no writes any more, the one that listens is opened again, too. */
  #noteLost(notifier: Notifier, thrown: unknown): void {
    this.#lostAt = performance.now()
    if (!isLost(thrown)) notifier.reconnect()
  }

  async #connect(pool: Pool): Promise<PoolClient> {
    try {
      return await pool.connect()
    } catch (thrown) {
      throw this.#closed ? closedError(this.options.url) : explain(this.options.url, thrown)
    }
  }

  #opened(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closedError(this.options.url))
    this.#opening ??= this.#open().catch((thrown) => {
      // The cause may be mended, so the next call tries again.
      this.#opening = undefined
      throw explain(this.options.url, thrown)
    })
    return this.#opening
  }

  async #open(): Promise<Opened> {
    const { connections, pooling, schema, url } = this.options
    const pg = await loadPg()
    const config = { ...configOf(this.options), pipeline: true, query_timeout: QUERY_SECONDS * 1000 }
    const pool = openPool(pg, { ...config, max: connections })
    const endPool = enderOf(pool)
    // An error of a connection rejects the statement under way, and the pool opens another connection for the next one.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {
        this.#lostAt = performance.now()
      })
      if (pooling === 'session') client.query(SESSION).catch(() => {})
    })
    try {
      if (pooling === 'transaction') await checkIsolation(pool, url)
      if ((await versionOf(pool, schema)) !== SCHEMA_VERSION)
        await onConnection(this.options, (client) => migrate(client, this.options))
    } catch (thrown) {
      await endPool()
      throw thrown
    }
    const statements = new Statements(schema, pooling === 'session')
    const channel = channelOf(schema)
    const notifier = new Notifier({
      channel,
      connect: pooling === 'transaction' ? undefined : () => connect(new pg.Client(config)),
      send: async (payload) => {
        await pool.query('SELECT pg_notify($1, $2)', [channel, payload])
      },
    })
    if (pooling === 'transaction') {
      this.#warn?.(
        `${url}: with pooling=transaction workers look for jobs 10 times a second, because PgBouncer passes no notifications on`,
      )
    }
    const committed = (channels: ReadonlySet<string>) => notifier.notify(channels)
    const lost = (thrown: unknown) => this.#noteLost(notifier, thrown)
    const writer = new Writer({ pool, statements, lock: this.lock, schema, warn: this.#warn, url, committed, lost })
    return { pool, endPool, statements, writer, notifier }
  }
}

/** A single statement runs at the default level, which can't be set for a connection that others use, too. */
async function checkIsolation(pool: Pool, url: string): Promise<void> {
  const { rows } = await pool.query(
    `SELECT current_setting('default_transaction_isolation') AS level, quote_ident(current_user) AS "user"`,
  )
  const { level, user } = rows[0]
  if (level === 'read committed') return
  throw new HighkiqError(
    'STORE_UNUSABLE',
    `${url}: with pooling=transaction the default isolation level must be read committed (it is ${level}): run ALTER ROLE ${user} SET default_transaction_isolation = 'read committed', and let PgBouncer connect again (RECONNECT)`,
  )
}

async function connect(client: Client): Promise<Client> {
  client.on('error', () => {
    // `end` follows.
  })
  await client.connect()
  return client
}

/** A part of the store, or all of it, that works on the server. */
export abstract class PostgresArea {
  protected readonly server: StoreServer

  constructor(server: StoreServer) {
    this.server = server
  }
}
