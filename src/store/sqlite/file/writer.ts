import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { HighkiqError, messageOf } from '../../../job/errors.ts'
import type { Database } from './database.ts'
import { lockHolder } from './lock-holder.ts'

/**
 * Writes the file. All writes that wait share a transaction, as far as TRANSACTION_MS allows.
 *
 * While the file is locked the writer tries again on a timer, because SQLite's own waiting blocks the event loop. A
 * process that writes without a pause would starve the others. So a waiting writer creates a file beside the database,
 * its request, and a writer that sees a request after a commit pauses for a moment.
 */

interface Operation {
  /** Whether the operation has a transaction of its own, in which it runs once. */
  alone: boolean
  /** Milliseconds on the monotonic clock. */
  deadline: number
  work: () => unknown
  resolve: (value: never) => void
  reject: (thrown: unknown) => void
}

/** An older request was left by a process that died. */
const REQUEST_MS = 100
/** A transaction that has lasted this long ends after the current write, so that the event loop and other processes can run. */
const TRANSACTION_MS = 10
/** A file that is locked for this many milliseconds causes a warning. */
const WARN_AFTER_MS = 5000
/** A store that closes drops its unwritten calls when the file has been locked for this many seconds. */
const CLOSE_PATIENCE_SECONDS = 5
/** The name of a savepoint. If it is gone, the app has ended the transaction around it. */
const ALONE = 'highkiq_alone'

export class Writer {
  readonly #db: Database
  readonly #requestPath: string | undefined
  readonly #afterCommit: () => void
  readonly #warn: (message: string) => void
  #operations: Operation[] = []
  #scheduled = false
  #closed = false
  #whenIdle: (() => void) | undefined
  #hasRequested = false
  #refusals = 0
  /** The time on the monotonic clock since which the file has been locked; 0 when it is not. */
  #lockedSince = 0
  #hasWarned = false
  #hasWarnedOfCommit = false
  #pauseUntil = 0

  /**
   * `afterCommit` runs once after each commit, before the writes resolve. `warn` gets one line each time another
   * process has kept the file locked for 5 seconds, and one line when `afterCommit` throws for the first time.
   */
  constructor(db: Database, afterCommit: () => void, warn: (message: string) => void = () => {}) {
    this.#db = db
    this.#requestPath = db.path === ':memory:' ? undefined : `${db.path}-queue`
    this.#afterCommit = afterCommit
    this.#warn = warn
  }

  /**
   * Runs `work` in a write transaction and resolves with its result after the commit. `work` must change nothing but the
   * database, because it runs again if its transaction has to be repeated.
   * @throws STORE_TIMEOUT when the file was locked for `seconds`, and nothing was written
   */
  write<T>(work: () => T, seconds = Number.POSITIVE_INFINITY): Promise<T> {
    return this.#add(false, work, seconds)
  }

  /**
   * Runs `work` of the app in a write transaction of its own, exactly once. `work` may resolve in a later microtask, but
   * must not wait for anything else. `then` runs in the same transaction.
   */
  alone<T>(work: () => Promise<T>, then: (answer: T) => void, seconds: number): Promise<void> {
    const both = async () => {
      this.#db.run(`SAVEPOINT ${ALONE}`)
      const answer = await work()
      this.#db.run(`RELEASE ${ALONE}`)
      then(answer)
    }
    return this.#add(true, both, seconds)
  }

  /**
   * Writes the calls made so far and refuses later ones. It gives up when the file has been locked for
   * `patienceSeconds`, counting time before this call.
   */
  async close(patienceSeconds = CLOSE_PATIENCE_SECONDS): Promise<void> {
    this.#closed = true
    const since = this.#refusals > 0 ? this.#lockedSince : performance.now()
    for (const operation of this.#operations) {
      operation.deadline = Math.min(operation.deadline, since + patienceSeconds * 1000)
    }
    if (!this.#scheduled) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  #add<T>(alone: boolean, work: () => T | Promise<T>, seconds: number): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#db.path))
    return new Promise<T>((resolve, reject) => {
      const deadline = performance.now() + seconds * 1000
      this.#operations.push({ alone, deadline, work, resolve: resolve as (value: never) => void, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const pause = this.#pauseUntil - performance.now()
    if (pause > 0) setTimeout(() => this.#flush(), pause)
    else setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    if (this.#begin()) {
      const [first] = this.#operations
      if (first?.alone) {
        this.#operations.shift()
        // Nothing else begins before it has ended.
        this.#scheduled = true
        void this.#workAlone(first).then(() => {
          this.#scheduled = false
          this.#next()
        })
        return
      }
      this.#runAndCommit()
    }
    this.#next()
  }

  #next(): void {
    if (this.#operations.length > 0) {
      this.#schedule()
      return
    }
    // Nobody knows how long the file stays locked from now on.
    this.#noteUnlocked()
    this.#whenIdle?.()
  }

  /** Returns whether a transaction has begun. If the file can't be written at all, all operations are rejected. */
  #begin(): boolean {
    try {
      this.#db.exec('BEGIN IMMEDIATE')
    } catch (thrown) {
      if (this.#db.isBusy(thrown)) {
        this.#refused()
      } else {
        this.#rejectAll(thrown)
      }
      return false
    }
    this.#withdrawRequest()
    try {
      this.#db.checkSchema()
    } catch (thrown) {
      this.#rollBack()
      this.#rejectAll(thrown)
      return false
    }
    return true
  }

  /** The file is locked: the next attempt follows after a short pause. */
  #refused(): void {
    this.#requestPause()
    const now = performance.now()
    this.#pauseUntil = now + 0.5 + Math.random() * Math.min(++this.#refusals, 4)
    if (this.#refusals === 1) this.#lockedSince = now
    if (!this.#hasWarned && now - this.#lockedSince > WARN_AFTER_MS) this.#warnOfLock()
    this.#rejectLate(now)
  }

  #noteUnlocked(): void {
    this.#refusals = 0
    this.#hasWarned = false
  }

  #rejectAll(thrown: unknown): void {
    const error = this.#db.explain(thrown)
    for (const operation of this.#operations.splice(0)) operation.reject(error)
  }

  #warnOfLock(): void {
    this.#hasWarned = true
    const seconds = WARN_AFTER_MS / 1000
    this.#warn(
      `${whoLocks(this.#db.path)} for ${seconds} s now: until it is free, no job is pushed, fetched or settled`,
    )
  }

  #rejectLate(now: number): void {
    const late = this.#operations.filter(({ deadline }) => deadline <= now)
    if (late.length === 0) return
    this.#operations = this.#operations.filter(({ deadline }) => deadline > now)
    const error = new HighkiqError(
      'STORE_TIMEOUT',
      `${whoLocks(this.#db.path)}, nothing was stored: wait for that process, or end it`,
    )
    for (const { reject } of late) reject(error)
  }

  /** Runs the waiting operations in the open transaction, and commits it. */
  #runAndCommit(): void {
    const done: Operation[] = []
    const answers: unknown[] = []
    const end = performance.now() + TRANSACTION_MS
    let current: Operation | undefined
    try {
      for (const operation of this.#operations) {
        if (operation.alone) break
        current = operation
        answers.push(operation.work())
        done.push(operation)
        if (performance.now() > end) break
      }
      current = undefined
      this.#db.exec('COMMIT')
    } catch (thrown) {
      this.#rollBack()
      if (this.#db.isBusy(thrown)) {
        this.#refused()
        return
      }
      this.#noteUnlocked()
      const error = this.#db.explain(thrown)
      if (current) {
        // Only this operation is rejected. The others run again without it.
        this.#operations.splice(done.length, 1)
        current.reject(error)
      } else {
        for (const operation of this.#operations.splice(0, done.length)) operation.reject(error)
      }
      return
    }
    this.#operations.splice(0, done.length)
    this.#committed()
    for (const [i, operation] of done.entries()) operation.resolve(answers[i] as never)
  }

  async #workAlone({ work, resolve, reject }: Operation): Promise<void> {
    try {
      await work()
      this.#db.exec('COMMIT')
    } catch (thrown) {
      this.#rollBack()
      this.#noteUnlocked()
      const ended = messageOf(thrown).includes(ALONE)
      reject(ended ? endedByOthers(this.#db.path) : this.#db.explain(thrown))
      return
    }
    this.#committed()
    resolve(undefined as never)
  }

  /** Never throws, because the operations are stored, whatever fails now. */
  #committed(): void {
    this.#noteUnlocked()
    try {
      if (this.#isPauseRequested()) this.#pauseUntil = performance.now() + 1 + Math.random()
      this.#afterCommit()
    } catch (thrown) {
      if (this.#hasWarnedOfCommit) return
      this.#hasWarnedOfCommit = true
      this.#warn(
        `${this.#db.path}: what follows a commit failed: ${messageOf(thrown)}; all jobs are stored, but the log may grow and workers may start new jobs late: check the folder and the disk of the file`,
      )
    }
  }

  #rollBack(): void {
    try {
      this.#db.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }

  #requestPause(): void {
    if (!this.#requestPath) return
    try {
      closeSync(openSync(this.#requestPath, 'w'))
      this.#hasRequested = true
    } catch {
      // Without the request it only takes longer to get the lock.
    }
  }

  #withdrawRequest(): void {
    if (!this.#hasRequested || !this.#requestPath) return
    this.#hasRequested = false
    try {
      rmSync(this.#requestPath, { force: true })
    } catch {
      // Other writers ignore it once it is old.
    }
  }

  #isPauseRequested(): boolean {
    if (!this.#requestPath) return false
    const request = statSync(this.#requestPath, { throwIfNoEntry: false })
    return request !== undefined && Date.now() - request.mtimeMs < REQUEST_MS
  }
}

/** Names the process that keeps the file locked, or the way to find it. */
function whoLocks(path: string): string {
  const holder = lockHolder(path) ?? `another process (find it, for instance with "fuser ${path}")`
  return `${path}: ${holder} keeps the file locked`
}

export function closedError(path: string): HighkiqError {
  return new HighkiqError('STORE_CLOSED', `the store ${path} is closed`)
}

function endedByOthers(path: string): HighkiqError {
  const message = `${path}: the function given to hq.transaction has ended the transaction by itself; its jobs are not stored, what it committed is: leave BEGIN, COMMIT and ROLLBACK out of it`
  return new HighkiqError('STORE_UNUSABLE', message)
}
