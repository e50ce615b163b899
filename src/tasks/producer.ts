import { randomBytes } from 'node:crypto'
import type { AddAnswer, Store, TaskRecord } from '../store/contract.ts'
import { isProcessGone, thisHost, thisHostText } from '../worker/lease/host.ts'
import { retryTransient, type StoreOfTasks } from './rows.ts'

const LEASE_SECONDS = 30
/** The host text of this process, cached after the first use. */
let host: string | undefined

/**
 * A process that adds rows to a task. It holds a lease, as a worker does, so that others notice when it dies.
 */
export class Producer {
  readonly token = `producer:${randomBytes(8).toString('hex')}`
  readonly #app: StoreOfTasks
  #timer: NodeJS.Timeout | undefined

  constructor(app: StoreOfTasks) {
    this.#app = app
  }

  /** Acquires the lease and renews it until the release. Does nothing if the producer holds it already. */
  async join(queue: string): Promise<void> {
    if (this.#timer) return
    const { workers } = this.#app.store
    host ??= thisHostText()
    const lease = { queues: [queue], seconds: LEASE_SECONDS, host }
    await retryTransient(() => workers.join(this.token, lease))
    // A failed renewal is ignored: the next one may succeed, and otherwise the task becomes `interrupted`.
    const renew = () => void workers.renew(this.token, LEASE_SECONDS).catch(() => {})
    this.#timer = setInterval(renew, (LEASE_SECONDS * 1000) / 3).unref()
  }

  /** Ends adding when all rows are stored, and releases the lease unless the store refuses. */
  async end(task: string): Promise<AddAnswer> {
    const { store, now } = this.#app
    const answer = await retryTransient(() => store.tasks.endAdding(task, this.token, now()))
    if (answer.ok) await this.release()
    return answer
  }

  async release(): Promise<void> {
    if (!this.#timer) return
    clearInterval(this.#timer)
    await this.#app.store.workers.release(this.token).catch(() => {})
  }

  /** Ends adding before all rows are stored. With `interrupted` the state of the task becomes `interrupted`. */
  async interrupt(task: string, interrupted = true): Promise<void> {
    if (!this.#timer) return
    const { store, now } = this.#app
    try {
      await store.tasks.endAdding(task, this.token, now(), interrupted)
      await this.release()
    } catch {
      // The lease runs out, and a worker that claims it interrupts the task.
      clearInterval(this.#timer)
    }
  }
}

/** Returns whether a task's first producer still adds rows: its lease holds, and its process is not known to be gone. */
export async function isProducerAlive(store: Store, { adding, producer }: TaskRecord): Promise<boolean> {
  if (!adding) return false
  const lease = (await store.workers.leases()).find(({ owner }) => owner === producer)
  return lease !== undefined && !lease.ended && !lease.claimed && !isProcessGone(lease.host, thisHost())
}
