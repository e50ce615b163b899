/**
 * Keeps the write-ahead log short. SQLite begins the log anew only when all of it is copied into the file and nobody reads
 * it; beside readers that overlap, that never happens by itself. So a thread with a connection of its own copies it,
 * and when it is large keeps everybody from writing for a moment, in which all readers end.
 */

import { statSync } from 'node:fs'
import { Worker as Thread } from 'node:worker_threads'
import type { Database, DatabaseOptions } from './database.ts'
import { FRAME_BYTES } from './database.ts'
import type { DriverName } from './driver.ts'

export interface CheckpointThreadData {
  path: string
  driver: DriverName | undefined
  largeFrames: number
}

export interface CheckpointAnswer {
  /** Frames in the log, and those of them that are in the file. */
  frames: number
  copied: number
  /** A reader keeps a large log from being emptied. */
  blocked: boolean
}

/** The log is copied whenever it has grown by so much. */
const STEP_BYTES = 16 * 1024 * 1024
/** A log that is larger is emptied; that is tried again whenever it has grown by a smaller step. */
const LARGE_BYTES = 64 * 1024 * 1024
const LARGE_STEP_BYTES = 4 * 1024 * 1024
/** Between two looks at its size. */
const LOOK_MS = 20
/** Between two calls while a reader keeps it from being emptied. */
const RETRY_MS = 1000
/** A reader that stays longer is told of. */
const PATIENCE_MS = 5000

export class Checkpoints {
  readonly #options: DatabaseOptions
  readonly #db: Database
  readonly #warn: ((message: string) => void) | undefined
  #thread: Thread | undefined
  #isBusy = false
  #isBroken = false
  #lookAt = 0
  /** How large the log was at the last call. */
  #doneBytes = 0
  #blocked: { since: number; copied: number; told: boolean } | undefined

  constructor(db: Database, options: DatabaseOptions, warn?: (message: string) => void) {
    this.#db = db
    this.#options = options
    this.#warn = warn
  }

  /** To be called after each commit. */
  committed(): void {
    const now = performance.now()
    if (this.#isBusy || now < this.#lookAt) return
    this.#lookAt = now + LOOK_MS
    const size = statSync(`${this.#db.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    // It was begun anew.
    if (size < this.#doneBytes) this.#doneBytes = size
    const step = size > LARGE_BYTES ? LARGE_STEP_BYTES : STEP_BYTES
    if (size < this.#doneBytes + step && !this.#blocked) return
    this.#doneBytes = size
    if (this.#isBroken) this.#db.checkpoint('PASSIVE')
    else this.#call()
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #call(): void {
    this.#isBusy = true
    if (this.#thread) this.#thread.postMessage('checkpoint')
    else this.#thread = this.#start()
  }

  #start(): Thread {
    const { path, driver } = this.#options
    const workerData: CheckpointThreadData = { path, driver, largeFrames: Math.floor(LARGE_BYTES / FRAME_BYTES) }
    const thread = new Thread(new URL('./checkpoint-thread.js', import.meta.url), { workerData, execArgv: [] })
    thread.unref()
    thread.on('message', (answer: 'ready' | CheckpointAnswer) => {
      if (answer === 'ready') thread.postMessage('checkpoint')
      else this.#hear(answer)
    })
    // Without the thread, the connection that writes does what SQLite's own checkpoints would do.
    thread.on('error', () => {
      this.#isBroken = true
      this.#isBusy = false
    })
    return thread
  }

  #hear({ frames, copied, blocked }: CheckpointAnswer): void {
    this.#isBusy = false
    const now = performance.now()
    if (!blocked) {
      this.#blocked = undefined
      return
    }
    this.#lookAt = now + RETRY_MS
    if (this.#blocked?.copied !== copied) this.#blocked = { since: now, copied, told: false }
    const { since, told } = this.#blocked
    if (told || now - since < PATIENCE_MS) return
    this.#blocked.told = true
    const seconds = Math.round((now - since) / 1000)
    const megabytes = Math.round((frames * FRAME_BYTES) / 1e6)
    const { path } = this.#db
    this.#warn?.(
      `${path}: a program has been reading it in one transaction for at least ${seconds} s, so its log can't be emptied and has ${megabytes} MB: find the program (for instance with "fuser ${path}") and let it end its transaction`,
    )
  }
}
