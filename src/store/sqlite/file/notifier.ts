import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Wakes waiters after a change of the file. Writers of this process notify channels. For writes of other processes it
 * watches the folder, not the `-wal` file, because the last process that closes the store deletes that file.
 */

interface Waiter {
  channels: readonly string[]
  wake: () => void
}

/** The interval of checks beside the watch, for file systems that report no changes. */
const POLL_MS = 250
/** The interval of checks if the folder can't be watched. */
const POLL_WITHOUT_WATCH_MS = 15
/** The delays of the first and the last check after a change of the folder; each is twice the one before. */
const FIRST_CHECK_MS = 1
const LAST_CHECK_MS = 64

export class Notifier {
  readonly #waiters = new Set<Waiter>()
  readonly #path: string
  /** Returns a number that changes once another process has written. */
  readonly #version: () => number
  /**
   * The version at the last check. The first check is at the opening, because another process may write between a caller's first
   * read and its first wait.
   */
  #seen = 0
  #watcher: FSWatcher | undefined
  #poll: NodeJS.Timeout | undefined
  #checking = false
  #delay = 0
  #closed = false

  constructor(path: string, version: () => number) {
    this.#path = path
    this.#version = version
    this.#seen = this.#read()
  }

  /** Wakes the waiters of the channels. */
  notify(channels: Iterable<string>): void {
    if (this.#waiters.size === 0) return
    const notified = new Set(channels)
    for (const waiter of [...this.#waiters]) {
      if (waiter.channels.some((channel) => notified.has(channel))) waiter.wake()
    }
  }

  /** Resolves at a notification of one of the channels, at a write of another process, after `ms`, or on abort. */
  wait(channels: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    if (this.#closed || signal.aborted) return Promise.resolve()
    const hasBegun = this.#watch()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiters.delete(waiter)
        resolve()
      }
      const waiter = { channels, wake: done }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      this.#waiters.add(waiter)
      if (hasBegun) this.#checkSoon()
    })
  }

  close(): void {
    this.#closed = true
    this.#watcher?.close()
    clearInterval(this.#poll)
    for (const waiter of [...this.#waiters]) waiter.wake()
  }

  /** Watches the file from now on; returns false if it does so already. */
  #watch(): boolean {
    if (this.#poll || this.#path === ':memory:') return false
    try {
      const name = basename(this.#path)
      this.#watcher = watch(dirname(this.#path), { persistent: false }, (_event, file) => {
        if (!file || file.startsWith(name)) this.#checkSoon()
      })
      this.#watcher.on('error', () => {
        this.#watcher?.close()
        this.#pollEvery(POLL_WITHOUT_WATCH_MS)
      })
      this.#pollEvery(POLL_MS)
    } catch {
      this.#pollEvery(POLL_WITHOUT_WATCH_MS)
    }
    return true
  }

  #pollEvery(ms: number): void {
    clearInterval(this.#poll)
    if (!this.#closed) this.#poll = setInterval(() => this.#checkSoon(), ms).unref()
  }

  /**
   * Checks for a write of another process. A write can be seen only once it is committed, and an fsync may come first. So
   * the notifier checks repeatedly, ever later, until some time after the last change of the folder.
   */
  #checkSoon(): void {
    this.#delay = FIRST_CHECK_MS
    if (this.#checking || this.#waiters.size === 0) return
    this.#checking = true
    this.#checkLater()
  }

  #checkLater(): void {
    setTimeout(() => {
      if (this.#closed) return
      const version = this.#read()
      if (version !== this.#seen) {
        this.#seen = version
        for (const waiter of [...this.#waiters]) waiter.wake()
      }
      this.#delay *= 2
      if (this.#delay <= LAST_CHECK_MS) this.#checkLater()
      else this.#checking = false
    }, this.#delay)
  }

  /** Returns a new number if the file can't be read: then the waiters read it themselves and get the error. */
  #read(): number {
    try {
      return this.#version()
    } catch {
      return -1 - this.#seen
    }
  }
}
