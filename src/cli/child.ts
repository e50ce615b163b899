/** A worker that is one of several: how it speaks with the parent that started it; see swarm.ts. */

import type { Worker } from '../index.ts'
import { CHILD, type ToChild, type ToParent } from './swarm.ts'

const WEIGH_MS = 1000

export class Child {
  /** From 1; the first one tells what all would tell. */
  readonly place: number
  #worker: Worker | undefined

  /** Undefined in a process that nobody watches over. Programs that jobs start are not of the family. */
  static here(): Child | undefined {
    const place = process.env[CHILD]
    delete process.env[CHILD]
    return place && process.send ? new Child(Number(place)) : undefined
  }

  private constructor(place: number) {
    this.place = place
    process.on('message', (message: ToChild) => this.#obey(message))
    // The parent was killed: nobody would start this one again, or end it.
    process.on('disconnect', () => this.#obey('stop'))
    if (!process.connected) this.#obey('stop')
  }

  /** From now on the worker does what the parent says. */
  lead(worker: Worker): void {
    this.#worker = worker
  }

  /** It takes jobs. `weigh`: the parent wants to know how large this process grows. */
  ready(weigh: boolean): void {
    this.#tell('ready')
    if (!weigh) return
    const timer = setInterval(() => {
      this.#tell({ megabytes: Math.round(process.memoryUsage.rss() / 1024 / 1024) })
    }, WEIGH_MS)
    timer.unref()
  }

  #tell(message: ToParent): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }

  #obey(message: ToChild): void {
    const worker = this.#worker
    if (!worker) {
      // Nothing has begun yet.
      if (message === 'stop' || message === 'quiet') process.exit(0)
    } else if (message === 'stop') void worker.stop()
    else if (message === 'quiet') void worker.quiet()
    else if (message === 'recover') void worker.recover()
    // Both have their signal, and whoever listens to it.
    else process.kill(process.pid, message === 'dump' ? 'SIGTTIN' : 'SIGUSR2')
  }
}
