import { randomBytes } from 'node:crypto'
import type { Store, TaskRecord } from '../store/contract.ts'
import { isGone, thisHost, thisHostText } from '../worker/lease/host.ts'

const LEASE_SECONDS = 30

/** Who adds rows to a task: an owner like a worker is, so that others see when its process dies. */
export class Producer {
  readonly token = `submitter:${randomBytes(8).toString('hex')}`
  readonly #store: () => Store
  #timer: NodeJS.Timeout | undefined

  constructor(store: () => Store) {
    this.#store = store
  }

  async join(queue: string): Promise<void> {
    await this.#store().workers.join(this.token, { queues: [queue], seconds: LEASE_SECONDS, host: thisHostText() })
    this.#timer = setInterval(() => this.#renew(), (LEASE_SECONDS * 1000) / 3).unref()
  }

  async release(): Promise<void> {
    if (!this.#timer) return
    this.#renewNoMore()
    await this.#store()
      .workers.release(this.token)
      .catch(() => {})
  }

  /** Ends its part of a task before all of it is there; `interrupted`: the task says so. */
  async interrupt(task: string, now: number, interrupted = true): Promise<void> {
    try {
      await this.#store().tasks.endAdding(task, this.token, now, interrupted)
      await this.release()
    } catch {
      // Left to its lease: when that ends, whoever claims it interrupts the task.
      this.#renewNoMore()
    }
  }

  #renewNoMore(): void {
    clearInterval(this.#timer)
  }

  /** One that fails is made good by the next; if none comes through, the task is interrupted and says so. */
  #renew(): void {
    this.#store()
      .workers.renew(this.token, LEASE_SECONDS)
      .catch(() => {})
  }
}

/** Whether who began a task adds rows to it, as far as can be told: its lease holds, and its process is not known to be gone. */
export async function isProducerAlive(store: Store, { adding, producer }: TaskRecord): Promise<boolean> {
  if (!adding) return false
  const lease = (await store.workers.leases()).find(({ owner }) => owner === producer)
  return lease !== undefined && !lease.ended && !lease.claimed && !isGone(lease.host, thisHost())
}
