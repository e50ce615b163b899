/** The child's side of `--processes`: messages between a worker and the parent that started it; see swarm.ts. */

import type { Worker } from '../index.ts'
import { CHILD, type ToChild, type ToParent } from './swarm.ts'

const MEMORY_REPORT_MS = 1000

export class Child {
  /** Number among its siblings, from 1. The first one logs what would be the same for all. */
  readonly number: number
  #worker: Worker | undefined

  /**
   * Returns undefined in a process without such a parent. Removes the variable, so that programs started by jobs do not
   * count as children.
   */
  static fromEnvironment(): Child | undefined {
    const number = process.env[CHILD]
    delete process.env[CHILD]
    return number && process.send ? new Child(Number(number)) : undefined
  }

  private constructor(number: number) {
    this.number = number
    process.on('message', (message: ToChild) => this.#obey(message))
    // The parent was killed: nothing would restart or stop this process.
    process.on('disconnect', () => this.#obey('stop'))
    if (!process.connected) this.#obey('stop')
  }

  /** Passes the parent's messages to this worker from now on. */
  attach(worker: Worker): void {
    this.#worker = worker
  }

  /** Tells the parent that this worker fetches jobs; with `reportMemory` also its memory, once a second. */
  ready(reportMemory: boolean): void {
    this.#send('ready')
    if (!reportMemory) return
    const timer = setInterval(() => {
      this.#send({ megabytes: Math.round(process.memoryUsage.rss() / 1024 / 1024) })
    }, MEMORY_REPORT_MS)
    timer.unref()
  }

  #send(message: ToParent): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }

  #obey(message: ToChild): void {
    const worker = this.#worker
    if (!worker) {
      // No job has started yet.
      if (message === 'stop' || message === 'quiet') process.exit(0)
    } else if (message === 'stop') void worker.stop()
    else if (message === 'quiet') void worker.quiet()
    else if (message === 'rescue') void worker.rescue()
    // These two have signals, which the worker and the app may listen to.
    else process.kill(process.pid, message === 'dump' ? 'SIGTTIN' : 'SIGUSR2')
  }
}
