/**
 * Runs the writes of one process that need the store for themselves. Those that wait run together in one transaction, so
 * that they share its round trips and its commit. An advisory lock of the schema lets one process at a time write.
 */

import type { Pool, PoolClient, QueryResult } from 'pg'
import { HighkiqError } from '../../../job/errors.ts'
import { Database, type Statements } from './database.ts'
import {
  closedError,
  endsConnection,
  explain,
  isLockTimeout,
  isLost,
  isRepeatable,
  noteMaybeStored,
  tooNew,
} from './errors.ts'
import { SCHEMA_VERSION } from './schema-version.ts'

interface Operation {
  work: (db: Database) => unknown
  resolve: (answer: never) => void
  reject: (error: unknown) => void
  /** The time of `performance.now` after which it must not begin. */
  deadline: number
  /** How often its transaction has lost the connection before the COMMIT. */
  lost: number
}

/** The longest transaction: a later operation waits for the next one. */
const TRANSACTION_MS = 50
/** A transaction whose process is frozen is ended by the server after this time, so that the others go on. */
const IDLE_SECONDS = 3
/** The longest wait for the lock in one attempt. */
const LOCK_SECONDS = 5
/** An operation is rejected when its transaction has lost the connection so often. */
const MOST_LOST = 3
/** The longest time for which `close` waits for operations. */
const CLOSE_SECONDS = 5

export interface WriterOptions {
  pool: Pool
  statements: Statements
  /** The number of the advisory lock. */
  lock: number
  /** The schema that has the tables. */
  schema: string
  url: string
  warn: ((message: string) => void) | undefined
  committed(notifications: ReadonlySet<string>): void
  /** Is called when a connection was ended because of this error. */
  lost(thrown: unknown): void
}

export class Writer {
  readonly #options: WriterOptions
  #operations: Operation[] = []
  #running: Promise<void> | undefined
  #closed = false
  #closeBy = Number.POSITIVE_INFINITY
  /** Whether others keep the lock, and a warning has said so. */
  #hasWarned = false

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Runs `work` in a transaction that writes. @throws STORE_TIMEOUT when it could not begin within `seconds` */
  write<T>(work: (db: Database) => T | Promise<T>, seconds: number): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#options.url))
    return new Promise<T>((resolve, reject) => {
      this.#operations.push({ work, resolve, reject, deadline: performance.now() + seconds * 1000, lost: 0 })
      this.#running ??= this.#runAll()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    // No operation keeps the process from ending, while another transaction keeps the lock.
    const end = performance.now() + CLOSE_SECONDS * 1000
    this.#closeBy = end
    await this.#running
  }

  async #runAll(): Promise<void> {
    // Operations of the same turn of the event loop share the transaction.
    await null
    try {
      while (this.#operations.length > 0) {
        this.#rejectLate()
        if (this.#operations.length > 0) await this.#runSome()
      }
    } finally {
      this.#running = undefined
    }
  }

  #rejectLate(): void {
    const now = performance.now()
    const isLate = ({ deadline }: Operation) => Math.min(deadline, this.#closeBy) <= now
    const late = this.#operations.filter(isLate)
    if (late.length === 0) return
    this.#operations = this.#operations.filter((operation) => !isLate(operation))
    const message = `${this.#options.url}: the server did not answer in time, or another transaction keeps Highkiq's lock; nothing was stored: see pg_stat_activity`
    for (const { reject } of late) reject(new HighkiqError('STORE_TIMEOUT', message))
  }

  /** Runs the waiting operations in one transaction. One that throws is rejected alone, and the others run again. */
  async #runSome(): Promise<void> {
    const { pool, statements, lock, schema, url } = this.#options
    const operations = this.#operations.splice(0)
    let client: PoolClient | undefined
    let done = 0
    let current: Operation | undefined
    let isConnected = false
    let isCommitting = false
    try {
      client = await pool.connect()
      isConnected = true
      const version = await begin(client, lock, schema)
      if (version > SCHEMA_VERSION) throw tooNew(url, schema, version)
      this.#hasWarned = false
      const db = new Database(client, statements)
      const answers: unknown[] = []
      const end = performance.now() + TRANSACTION_MS
      for (const operation of operations) {
        current = operation
        answers.push(await operation.work(db))
        done++
        if (performance.now() > end) break
      }
      current = undefined
      isCommitting = true
      await client.query('COMMIT')
      client.release()
      client = undefined
      this.#operations = operations.slice(done).concat(this.#operations)
      this.#options.committed(db.notifications)
      for (const [i, { resolve }] of operations.slice(0, done).entries()) resolve(answers[i] as never)
    } catch (thrown) {
      if (client) await rollBack(client, thrown)
      if (endsConnection(thrown)) this.#options.lost(thrown)
      if (isConnected && !isCommitting && isLost(thrown)) this.#repeat(operations, thrown)
      else this.#failed(operations, isCommitting ? done : undefined, current, thrown)
    }
  }

  /** Nothing was committed: the operations run again on another connection, unless that happens too often. */
  #repeat(operations: Operation[], thrown: unknown): void {
    for (const operation of operations) operation.lost++
    this.#operations = operations.filter(({ lost }) => lost < MOST_LOST).concat(this.#operations)
    const error = explain(this.#options.url, thrown)
    for (const { lost, reject } of operations) if (lost >= MOST_LOST) reject(error)
  }

  /** `atCommit`: how many of the operations the COMMIT would have stored; undefined before it was sent. */
  #failed(
    operations: Operation[],
    atCommit: number | undefined,
    current: Operation | undefined,
    thrown: unknown,
  ): void {
    if (isRepeatable(thrown)) {
      if (isLockTimeout(thrown)) this.#warnOfLock()
      this.#operations = operations.concat(this.#operations)
      return
    }
    const error = explain(this.#options.url, thrown)
    if (current && !isLost(thrown)) {
      // Only this operation is rejected. The others were rolled back with it, and run again.
      this.#operations = operations.filter((one) => one !== current).concat(this.#operations)
      current.reject(error)
      return
    }
    if (atCommit !== undefined && isLost(thrown)) noteMaybeStored(error)
    this.#operations = operations.slice(atCommit ?? operations.length).concat(this.#operations)
    for (const { reject } of operations.slice(0, atCommit)) reject(error)
  }

  #warnOfLock(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.warn?.(
      `${this.#options.url}: another transaction has kept Highkiq's advisory lock for ${LOCK_SECONDS} s: until it ends, only plain jobs are pushed, and no job is fetched or settled (pg_locks has its process, where locktype is advisory)`,
    )
  }
}

/** Statements use the indexes also when the statistics of a table are old. */
const PLANS =
  'SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off'

/** Begins a transaction that has the lock to itself, in one round trip. Returns the version of the schema. */
async function begin(client: PoolClient, lock: number, schema: string): Promise<number> {
  const limits = `SET LOCAL idle_in_transaction_session_timeout = '${IDLE_SECONDS}s'; SET LOCAL lock_timeout = '${LOCK_SECONDS}s'`
  const level = 'BEGIN ISOLATION LEVEL READ COMMITTED'
  const version = `SELECT version FROM "${schema}".schema_version`
  const answers = await client.query(`${level}; ${limits}; ${PLANS}; SELECT pg_advisory_xact_lock(${lock}); ${version}`)
  return (answers as unknown as QueryResult[]).at(-1)?.rows[0].version
}

/** Ends the transaction; and the connection, if it can't be used any more. */
async function rollBack(client: PoolClient, thrown: unknown): Promise<void> {
  if (endsConnection(thrown)) return client.release(true)
  await client.query('ROLLBACK').then(
    () => client.release(),
    () => client.release(true),
  )
}
