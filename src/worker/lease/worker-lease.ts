/** The lease of a worker: it joins the store as an owner, joins again as a new one after a lost lease, and leaves. */

import { HighkiqError } from '../../job/errors.ts'
import { within } from '../../job/wait.ts'
import type { Engine } from '../engine.ts'
import { EventLoopState } from './event-loop-state.ts'
import { thisHostText } from './host.ts'
import { LeaseRenewer } from './lease-renewer.ts'

export interface WorkerLeaseOptions {
  identity: string
  seconds: number
  maxBlockSeconds: number
  /** Returns the queues that the worker serves. */
  queues: () => string[]
  /** Called when the lease was lost, before the worker joins as a new owner. */
  onLost: () => void
  /** Called after the worker joined as a new owner. */
  onRejoined: () => Promise<void>
}

export class WorkerLease {
  readonly eventLoop = new EventLoopState()
  readonly renewer: LeaseRenewer
  readonly #engine: Engine
  readonly #options: WorkerLeaseOptions
  #epoch = 0
  #rejoining: Promise<void> | undefined
  #hasLeft = false

  constructor(engine: Engine, options: WorkerLeaseOptions) {
    this.#engine = engine
    this.#options = options
    const { seconds, maxBlockSeconds } = options
    this.renewer = new LeaseRenewer(engine, {
      seconds,
      maxBlockSeconds,
      eventLoop: this.eventLoop,
      onLost: (owner) => {
        if (owner !== this.owner) return
        // If this fails, the store refuses the next fetch, and the worker tries again.
        this.rejoin().catch((thrown) => engine.report(thrown, { during: 'joining as a new owner' }))
      },
    })
  }

  /** The name under which the worker holds its lease; each join after a lost lease has another one. */
  get owner(): string {
    return `${this.#options.identity}.${this.#epoch}`
  }

  /** The worker has released its lease, or is about to: it does not join again. */
  get hasLeft(): boolean {
    return this.#hasLeft
  }

  async join(): Promise<void> {
    const { queues, seconds } = this.#options
    const sentAt = performance.now()
    const host = thisHostText()
    const isNew = await this.#engine.store.workers.join(this.owner, { queues: [...new Set(queues())], seconds, host })
    // If the store knows this owner, the answer to an earlier join was lost: the first renewal shows whether its lease holds.
    this.renewer.keep(this.owner, isNew ? sentAt : Number.NEGATIVE_INFINITY)
  }

  /** After a lost lease: drops the jobs, which belong to other workers now, and joins as a new owner. */
  rejoin(): Promise<void> {
    if (this.#hasLeft) return Promise.resolve()
    this.#rejoining ??= this.#rejoin().finally(() => {
      this.#rejoining = undefined
    })
    return this.#rejoining
  }

  /** Resolves when a rejoin that is under way has ended, also when it failed. */
  async settled(): Promise<void> {
    await this.#rejoining?.catch(() => undefined)
  }

  /** From now on the worker does not join again. */
  leave(): void {
    this.#hasLeft = true
  }

  /**
   * Stops renewing and releases the lease. Waits for the store at most `waitMs`; a lease that is not released ends by itself.
   */
  async release(waitMs: number): Promise<void> {
    const { store, report } = this.#engine
    await this.renewer.stop()
    const release = async () => store.workers.release(this.owner)
    const released = release().catch((thrown) => report(thrown, { during: 'releasing the lease' }))
    if (waitMs > 0) await within(waitMs, released)
  }

  async #rejoin(): Promise<void> {
    const message = 'this process lost its lease: its jobs go to other workers, and it continues as a new owner'
    const lost = this.owner
    this.#engine.report(new HighkiqError('LEASE_LOST', message), { owner: lost })
    this.#options.onLost()
    this.#epoch++
    // A store that lost its data does not know the old owner: claimed, it can't hold jobs that arrive late.
    await this.#engine.store.workers.claim(lost)
    await this.join()
    await this.#options.onRejoined()
  }
}
