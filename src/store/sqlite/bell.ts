import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Wakes those who wait for a change of the file: told directly inside this process, and by watching the folder for
 * writes of other processes. (The folder, not the `-wal` file: the last process to close deletes that.)
 */

interface Waiter {
  topics: readonly string[]
  wake: () => void
}

/** Behind the watch, for file systems that do not tell. */
const POLL_MS = 250
/** Without a watch. */
const POLL_WITHOUT_WATCH_MS = 15
/** After a sign: the first look, and about where to stop; each is twice as late as the one before. */
const FIRST_LOOK_MS = 1
const LAST_LOOK_MS = 64

export class Bell {
  readonly #waiters = new Set<Waiter>()
  readonly #path: string
  /** Answers a number that differs once another process has written. */
  readonly #version: () => number
  #seen = 0
  #watcher: FSWatcher | undefined
  #poll: NodeJS.Timeout | undefined
  #checking = false
  #delay = 0
  #closed = false

  constructor(path: string, version: () => number) {
    this.#path = path
    this.#version = version
  }

  /** Wakes whoever waits for one of the topics. */
  ring(topics: Iterable<string>): void {
    if (this.#waiters.size === 0) return
    const rung = new Set(topics)
    for (const waiter of [...this.#waiters]) {
      if (waiter.topics.some((topic) => rung.has(topic))) waiter.wake()
    }
  }

  /** Resolves at a ring, a write of another process, after `ms`, or on abort. */
  wait(topics: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    if (this.#closed || signal.aborted) return Promise.resolve()
    this.#watch()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiters.delete(waiter)
        resolve()
      }
      const waiter = { topics, wake: done }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      this.#waiters.add(waiter)
    })
  }

  close(): void {
    this.#closed = true
    this.#watcher?.close()
    clearInterval(this.#poll)
    for (const waiter of [...this.#waiters]) waiter.wake()
  }

  #watch(): void {
    if (this.#poll || this.#path === ':memory:') return
    this.#seen = this.#read()
    let interval = POLL_MS
    try {
      const name = basename(this.#path)
      this.#watcher = watch(dirname(this.#path), { persistent: false }, (_event, file) => {
        if (!file || file.startsWith(name)) this.#checkSoon()
      })
      this.#watcher.on('error', () => this.#lookOften())
    } catch {
      interval = POLL_WITHOUT_WATCH_MS
    }
    this.#poll = setInterval(() => this.#checkSoon(), interval).unref()
  }

  /**
   * Something was written. It can be seen only when it is committed, and an fsync may lie between: so we look again and
   * again, ever later, until some time after the last sign.
   */
  #checkSoon(): void {
    this.#delay = FIRST_LOOK_MS
    if (this.#checking || this.#waiters.size === 0) return
    this.#checking = true
    this.#lookLater()
  }

  #lookLater(): void {
    setTimeout(() => {
      if (this.#closed) return
      const version = this.#read()
      if (version !== this.#seen) {
        this.#seen = version
        for (const waiter of [...this.#waiters]) waiter.wake()
      }
      this.#delay *= 2
      if (this.#delay <= LAST_LOOK_MS) this.#lookLater()
      else this.#checking = false
    }, this.#delay)
  }

  /** Differs from what was seen when the file can't be read: then whoever waits looks for himself, and tells why. */
  #read(): number {
    try {
      return this.#version()
    } catch {
      return -1 - this.#seen
    }
  }

  #lookOften(): void {
    this.#watcher?.close()
    clearInterval(this.#poll)
    if (!this.#closed) this.#poll = setInterval(() => this.#checkSoon(), POLL_WITHOUT_WATCH_MS).unref()
  }
}
