/** The file of a store, opened when it is first needed. A write is all or nothing. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Checkpoints } from './checkpoints.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { watchLibraries } from './libraries.ts'
import { Notifier } from './notifier.ts'
import { closedError, Writer } from './writer.ts'

/** For this many seconds a call whose caller waits for it tries to write, while another program keeps the file locked. */
export const ANSWER_SECONDS = 5

interface Opened {
  db: Database
  writer: Writer
  notifier: Notifier
  /** undefined for a store in memory, which has no log. */
  checkpoints: Checkpoints | undefined
  /** See `watchLibraries`. */
  endWatch: (() => void) | undefined
}

export class StoreFile {
  readonly options: DatabaseOptions
  readonly #warn: ((message: string) => void) | undefined
  #opening: Promise<Opened> | undefined
  #closed = false
  #closing: Promise<void> | undefined

  /** `warn` gets the messages of `Writer`, `Checkpoints` and `watchLibraries`. */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    this.options = options
    this.#warn = warn
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Runs `work` in a write transaction. @throws STORE_TIMEOUT when the file was locked for `seconds` */
  async write<T>(work: (db: Database) => T, seconds = Number.POSITIVE_INFINITY): Promise<T> {
    const { db, writer } = await this.#opened()
    return writer.write(() => work(db), seconds)
  }

  /** Runs `work` of the app and then `store` in a write transaction of their own; see `Writer.alone`. */
  async writeAlone<T>(work: (db: Database) => Promise<T>, store: (db: Database, result: T) => void): Promise<void> {
    const { db, writer } = await this.#opened()
    return writer.alone(
      () => work(db),
      (result) => store(db, result),
      ANSWER_SECONDS,
    )
  }

  /**
   * Runs `work`. Another process may write between two of its statements; see `readAtOnce`. A read does not wait for writers, but
   * the file may be locked for a moment. Each read waits for a turn of the event loop, so that repeated reads do not block the
   * process.
   */
  async read<T>(work: (db: Database) => T): Promise<T> {
    for (;;) {
      const { db } = await this.#opened()
      await nextTurn()
      if (this.#closed) throw closedError(this.options.path)
      try {
        return work(db)
      } catch (thrown) {
        if (!db.isBusy(thrown)) throw db.explain(thrown)
        await new Promise((resume) => setTimeout(resume, 1))
      }
    }
  }

  /** Runs `work`, as `read` does. All of its statements see the same state of the file. */
  readAtOnce<T>(work: (db: Database) => T): Promise<T> {
    return this.read((db) => db.atOnce(() => work(db)))
  }

  /** Waits for a notification of one of the channels, or a write of another process; see `Notifier.wait`. */
  async wait(channels: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    const { notifier } = await this.#opened()
    await notifier.wait(channels, ms, signal)
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
    opened.endWatch?.()
    opened.notifier.close()
    await opened.writer.close()
    await opened.checkpoints?.close()
    opened.db.close()
  }

  #opened(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closedError(this.options.path))
    this.#opening ??= this.#open().catch((thrown) => {
      // The cause may be mended, so the next call tries again.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  async #open(): Promise<Opened> {
    const db = await Database.open(this.options)
    const notifier = new Notifier(db.path, () => db.dataVersion)
    const checkpoints = db.path === ':memory:' ? undefined : new Checkpoints(db, this.options, this.#warn)
    const afterCommit = () => {
      notifier.notify(db.drainNotifications())
      checkpoints?.committed()
    }
    const endWatch = checkpoints && this.#warn && watchLibraries(db.path, this.#warn)
    return { db, writer: new Writer(db, afterCommit, this.#warn), notifier, checkpoints, endWatch }
  }
}

/** A part of the store, or all of it, that works on the file. */
export abstract class SqliteArea {
  protected readonly file: StoreFile

  constructor(file: StoreFile) {
    this.file = file
  }
}
