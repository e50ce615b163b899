/**
 * Keeps an owner's lease. A small thread renews it, so that a handler which blocks the event loop keeps its job; where a
 * store has nothing for a thread, the main thread does it.
 */

import { Worker as Thread } from 'node:worker_threads'
import type { Renewer } from '../store/contract.ts'
import type { Engine } from './engine.ts'

export type ToThread = { renew: string } | { stop: true }
export type FromThread = { lost: string } | { error: string }

/** Before a thread that broke is started again. */
const RESTART_MS = 500

export class Lease {
  readonly #engine: Engine
  readonly #seconds: number
  readonly #onLost: (owner: string) => void
  #owner = ''
  #stopped = false
  #thread: Thread | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(engine: Engine, seconds: number, onLost: (owner: string) => void) {
    this.#engine = engine
    this.#seconds = seconds
    this.#onLost = onLost
  }

  /** Keeps renewing this owner, which has joined, instead of the one before. */
  keep(owner: string): void {
    this.#owner = owner
    if (this.#stopped) return
    if (this.#thread) this.#thread.postMessage({ renew: owner } satisfies ToThread)
    else if (!this.#timer) this.#begin()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    const thread = this.#thread
    this.#thread = undefined
    if (!thread) return
    const exited = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage({ stop: true } satisfies ToThread)
    await exited
  }

  #begin(): void {
    const renewer = this.#engine.store.renewer()
    if (renewer) this.#thread = this.#startThread(renewer)
    else this.#timer = setInterval(() => void this.#renewHere(), (this.#seconds * 1000) / 3)
  }

  #startThread(renewer: Renewer): Thread {
    const thread = new Thread(new URL('./lease-thread.js', import.meta.url), {
      workerData: { renewer, seconds: this.#seconds, owner: this.#owner },
      // A worker's flags (a debugger's port, a loader for TypeScript) are none of its business.
      execArgv: [],
    })
    thread.on('message', (message: FromThread) => {
      if ('lost' in message) this.#onLost(message.lost)
      else this.#engine.report(new Error(message.error), { during: 'renewing the lease' })
    })
    thread.on('error', (thrown) => {
      this.#engine.report(thrown, { during: 'the lease thread; it is started again' })
      if (this.#thread !== thread || this.#stopped) return
      this.#thread = undefined
      this.#timer = setTimeout(() => {
        this.#thread = this.#startThread(renewer)
      }, RESTART_MS)
    })
    return thread
  }

  async #renewHere(): Promise<void> {
    const owner = this.#owner
    try {
      if (!(await this.#engine.store.renew(owner, this.#seconds))) this.#onLost(owner)
    } catch (thrown) {
      this.#engine.report(thrown, { during: 'renewing the lease' })
    }
  }
}
