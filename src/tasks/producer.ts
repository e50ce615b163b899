import { randomBytes } from 'node:crypto'
import { HighkiqError, invalidOption } from '../job/errors.ts'
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
  /** Begins with the time at which adding began, so that the names of producers are in the order of their calls. */
  readonly token: string
  readonly #app: StoreOfTasks
  #timer: NodeJS.Timeout | undefined

  /** `instead` is the token of the producer that this one replaces. */
  constructor(app: StoreOfTasks, instead?: string) {
    this.#app = app
    const since = instead?.match(/^producer:([0-9a-f]{12})/)?.[1] ?? app.now().toString(16).padStart(12, '0')
    this.token = `producer:${since}${randomBytes(8).toString('hex')}`
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

/** Which call is resumed: `create`, or `import` and `export`, which create the task; or `add`. */
export type ResumedCall = 'create' | 'add'

/**
 * Returns the producer to replace when a call is resumed; null: no call of `add` broke off. Of several the oldest comes first.
 * @throws INVALID_OPTION, TASK_BUSY
 */
export async function producerToResume(
  { store }: StoreOfTasks,
  { id, producer }: TaskRecord,
  of: ResumedCall,
): Promise<string | null> {
  const missed = await retryTransient(() => store.tasks.producers(id))
  const others = missed.filter(({ name }) => name !== producer)
  const broken = others.find((other) => other.broken)
  if (of === 'create') {
    if (!broken || others.length < missed.length) return producer
    const message = `all rows with which task ${id} was created are stored; a call of task.add broke off: pass the rows of that call, with { of: 'add' }, to task.resumeAdding`
    throw invalidOption(message)
  }
  if (broken || others.length === 0) return broken?.name ?? null
  const message = `calls of task.add are adding rows to task ${id}, and none broke off. If the process of one died, its lease ends within ${LEASE_SECONDS} seconds: try again then`
  throw new HighkiqError('TASK_BUSY', message)
}

/** Returns whether the producer that created a task still adds rows: its lease holds, and its process is not known to be gone. */
export async function isProducerAlive(store: Store, { producer }: TaskRecord): Promise<boolean> {
  const lease = (await store.workers.leases()).find(({ owner }) => owner === producer)
  return lease !== undefined && !lease.ended && !lease.claimed && !isProcessGone(lease.host, thisHost())
}
