import { randomBytes } from 'node:crypto'
import type { Store, TaskRecord } from '../store/contract.ts'
import { isGone, thisHost, thisHostText } from '../worker/lease/host.ts'

const LEASE_SECONDS = 30

/**
 * A process that adds rows to a task. It holds a lease, as a worker does, so that others notice when it dies.
 */
export class Producer {
  readonly token = `producer:${randomBytes(8).toString('hex')}`
  readonly #store: Store
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store) {
    this.#store = store
  }

  async join(queue: string): Promise<void> {
    await this.#store.workers.join(this.token, { queues: [queue], seconds: LEASE_SECONDS, host: thisHostText() })
    this.#timer = setInterval(() => this.#renew(), (LEASE_SECONDS * 1000) / 3).unref()
  }

  async release(): Promise<void> {
    if (!this.#timer) return
    this.#stopRenewing()
    await this.#store.workers.release(this.token).catch(() => {})
  }

  /** Ends adding before all rows are stored. With `interrupted` the task's state says so. */
  async interrupt(task: string, now: number, interrupted = true): Promise<void> {
    try {
      await this.#store.tasks.endAdding(task, this.token, now, interrupted)
      await this.release()
    } catch {
      // The lease runs out, and a worker that claims it interrupts the task.
      this.#stopRenewing()
    }
  }

  #stopRenewing(): void {
    clearInterval(this.#timer)
  }

  /** A failed renewal is ignored: the next one may succeed, and otherwise the task becomes `interrupted`. */
  #renew(): void {
    this.#store.workers.renew(this.token, LEASE_SECONDS).catch(() => {})
  }
}

/** Returns whether a task's first producer still adds rows: its lease holds, and its process is not known to be gone. */
export async function isProducerAlive(store: Store, { adding, producer }: TaskRecord): Promise<boolean> {
  if (!adding) return false
  const lease = (await store.workers.leases()).find(({ owner }) => owner === producer)
  return lease !== undefined && !lease.ended && !lease.claimed && !isGone(lease.host, thisHost())
}
