/**
 * Keeps the write-ahead log short. SQLite restarts the log only when all of it is copied into the file and nobody
 * reads it, which never happens by itself while reads overlap. So a thread with its own connection copies the log. When
 * the log is large, the thread pauses all writers for a moment, in which all readers end.
 */

import { statSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { messageOf } from '../../../job/errors.ts'
import { Thread } from '../../../thread.ts'
import type { Database, DatabaseOptions } from './database.ts'
import type { DriverName } from './driver.ts'

export interface CheckpointThreadData {
  path: string
  driver: DriverName | undefined
  largeFrames: number
}

export interface CheckpointAnswer {
  /** The number of frames in the log, and how many of them are copied into the file. */
  frames: number
  copied: number
  /** True when a reader or a writer blocks the emptying of a large log. */
  blocked: boolean
}

/** The log is copied each time it has grown by this many bytes. */
const STEP_BYTES = 16 * 1024 * 1024
/** A log above this size is emptied; the attempt is repeated after each further `LARGE_STEP_BYTES`. */
const LARGE_BYTES = 64 * 1024 * 1024
const LARGE_STEP_BYTES = 4 * 1024 * 1024
/** Milliseconds between two checks of the log's size. */
const CHECK_MS = 20
/** Milliseconds until the next attempt after a reader blocked the emptying; doubled after each further failed attempt. */
const RETRY_MS = 100
const MOST_RETRY_MS = 2000
/** Milliseconds until a thread that ended with an error is started again; the writing connection copies the log meanwhile. */
const RESTART_MS = 1000
/** A warning names a reader that has blocked the log for longer than this. */
const PATIENCE_MS = 5000

export class Checkpoints {
  readonly #options: DatabaseOptions
  readonly #db: Database
  readonly #warn: ((message: string) => void) | undefined
  #thread: Thread | undefined
  #isBusy = false
  #restartAt = 0
  #hasWarnedOfThread = false
  #checkAt = 0
  /** The size of the log at the last call, in bytes. */
  #doneBytes = 0
  #blocked: { since: number; copied: number; warned: boolean } | undefined
  #retryMs = RETRY_MS

  constructor(db: Database, options: DatabaseOptions, warn?: (message: string) => void) {
    this.#db = db
    this.#options = options
    this.#warn = warn
  }

  /** Checks the size of the log; call it after each commit. */
  committed(): void {
    const now = performance.now()
    if (this.#isBusy || now < this.#checkAt) return
    this.#checkAt = now + CHECK_MS
    const size = statSync(`${this.#db.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    // SQLite has restarted the log.
    if (size < this.#doneBytes) this.#doneBytes = size
    const step = size > LARGE_BYTES ? LARGE_STEP_BYTES : STEP_BYTES
    if (size < this.#doneBytes + step && !this.#blocked) return
    this.#doneBytes = size
    // A thread that ends together with its own threads can't wait for their native calls.
    if (!isMainThread || now < this.#restartAt) this.#db.checkpoint('PASSIVE')
    else this.#call()
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #call(): void {
    try {
      if (this.#thread) this.#thread.postMessage('checkpoint')
      else this.#thread = this.#start()
      this.#isBusy = true
    } catch (thrown) {
      // Node may start no thread, for instance with --permission.
      this.#failed(thrown)
      this.#db.checkpoint('PASSIVE')
    }
  }

  #start(): Thread {
    const { path, driver } = this.#options
    const workerData: CheckpointThreadData = {
      path,
      driver,
      largeFrames: Math.floor(LARGE_BYTES / this.#db.logPageBytes),
    }
    const thread = new Thread('store/sqlite/file/checkpoint-thread.js', { workerData, execArgv: [] })
    thread.unref()
    thread.on('message', (answer: 'ready' | CheckpointAnswer) => {
      if (answer === 'ready') thread.postMessage('checkpoint')
      else this.#answered(answer)
    })
    thread.on('error', (thrown) => this.#failed(thrown))
    thread.on('exit', () => {
      this.#thread = undefined
      this.#isBusy = false
    })
    return thread
  }

  #failed(thrown: unknown): void {
    this.#restartAt = performance.now() + RESTART_MS
    if (this.#hasWarnedOfThread) return
    this.#hasWarnedOfThread = true
    this.#warn?.(
      `${this.#db.path}: the thread that empties the log does not run (${messageOf(thrown)}): writes copy the log themselves until it does`,
    )
  }

  #answered({ frames, copied, blocked }: CheckpointAnswer): void {
    this.#isBusy = false
    this.#hasWarnedOfThread = false
    const now = performance.now()
    if (!blocked) {
      this.#blocked = undefined
      this.#retryMs = RETRY_MS
      return
    }
    this.#checkAt = now + this.#retryMs
    this.#retryMs = Math.min(2 * this.#retryMs, MOST_RETRY_MS)
    if (this.#blocked?.copied !== copied) this.#blocked = { since: now, copied, warned: false }
    const { since, warned } = this.#blocked
    if (warned || now - since < PATIENCE_MS) return
    this.#blocked.warned = true
    const seconds = Math.round((now - since) / 1000)
    const megabytes = Math.round((frames * this.#db.logPageBytes) / 1e6)
    const { path } = this.#db
    this.#warn?.(
      `${path}: a program has been reading it in one transaction for at least ${seconds} s, so its log can't be emptied and has ${megabytes} MB: find the program (for instance with "fuser ${path}") and let it end its transaction`,
    )
  }
}
