/** The owners of this process: their steps, their waits, and the jobs that lost answers have left with them. */

import { fencedAnswer } from '../../contract/fenced-answer.ts'
import type {
  ClaimCondition,
  FetchedJob,
  JoinOptions,
  SettleAndFetch,
  SettleAndFetchAnswer,
  WorkerStore,
} from '../../contract.ts'
import type { Pauses } from '../jobs/pauses.ts'
import type { PriorityQueues } from '../jobs/priority-queues.ts'
import type { Connection } from '../server/connection.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { JobWaits } from './job-waits.ts'
import type { Leases } from './leases.ts'
import { LostAnswers } from './lost-answers.ts'
import { Owner } from './owner.ts'
import { SettleAndFetchScript } from './settle-and-fetch.ts'

/** The longest time between two searches for jobs whose answer was lost. */
const RECONCILE_MS = 30_000
/** The time from a lost answer to the second search: the server may serve the wait of a lost client until then. */
const RETRY_MS = 3000
/** The longest time for which the server serves a wait whose client is gone. */
const SERVED_MS = 5000
/** An undelivered job goes back to its queue when its owner has not fetched it by then. */
const REQUEUE_MS = 2000

/** What a step is sent with. `owner` is undefined when it has no lease. */
interface Prepared {
  owner: Owner | undefined
  queues: readonly string[]
}

export class Owners extends StorePart implements Partial<WorkerStore> {
  readonly #leases: Leases
  readonly #tasks: Tasks
  readonly #priorities: PriorityQueues
  readonly #script: SettleAndFetchScript
  readonly #waits: JobWaits
  readonly #lostAnswers: LostAnswers
  readonly #known = new Map<string, Owner>()
  /** The queues of owners that lost their lease. */
  readonly #lastQueues = new Map<string, ReadonlySet<string>>()
  #connection: Connection | undefined
  /** The last step of each owner that waits until it may be sent. */
  readonly #preparing = new Map<string, Promise<Prepared>>()

  constructor(server: Server, leases: Leases, tasks: Tasks, pauses: Pauses, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
    this.#leases = leases
    this.#tasks = tasks
    const connection = () => this.#connect()
    this.#script = new SettleAndFetchScript(server, connection, pauses, () => this.#lost())
    this.#waits = new JobWaits(server, pauses, priorities, {
      lost: () => this.#lost(),
      undelivered: (owner, ms = REQUEUE_MS) => this.#after(ms, () => this.#requeue(owner)),
      requeue: (owner) => void this.#requeue(owner),
    })
    this.#lostAnswers = new LostAnswers(server, connection)
  }

  async settleAndFetch(name: string, step: SettleAndFetch): Promise<SettleAndFetchAnswer> {
    let prepared = this.#prepared(name, step)
    if (!prepared) {
      const preparing = this.#prepare(name, step, this.#preparing.get(name))
      this.#preparing.set(name, preparing)
      try {
        prepared = await preparing
      } finally {
        // From here to the sending of the step nothing is awaited, so that no later step can overtake it.
        if (this.#preparing.get(name) === preparing) this.#preparing.delete(name)
      }
    }
    const { owner, queues } = prepared
    if (!owner) return fencedAnswer(step)
    const { version } = owner
    const answer = await this.#script.run(owner, { ...step, fetch: { queues, n: step.fetch.n } })
    if (answer.cancellations !== version) this.#priorities.expire()
    if (answer.fenced) this.#fenced(owner)
    // The caller learns of new cancellations by this answer. The answer to a requeue of the store reaches no caller.
    else owner.version = answer.cancellations
    return answer
  }

  /** Returns what a step is sent with; undefined when something must be read first, or when an earlier step waits. */
  #prepared(name: string, step: SettleAndFetch): Prepared | undefined {
    const owner = this.#known.get(name)
    if (!owner || this.#preparing.has(name) || this.#priorities.isStale || !this.#script.isPrepared(step))
      return undefined
    const queues = this.#priorities.listsOf(step.fetch.queues)
    return queues.every((queue) => owner.queues.has(queue)) ? { owner, queues } : undefined
  }

  /**
   * Reads what must be known before a step is sent. Resolves after `before`: a step must not overtake an earlier one of its
   * owner, which may carry the starts of its jobs.
   */
  async #prepare(name: string, step: SettleAndFetch, before: Promise<unknown> | undefined): Promise<Prepared> {
    const owning = this.#priorities.update().then(async () => {
      const queues = this.#priorities.listsOf(step.fetch.queues)
      return { owner: await this.#ownerIn(name, queues), queues }
    })
    const reading = Promise.all([owning, this.#script.prepare(step)])
    await Promise.allSettled([reading, before])
    const [owned] = await reading
    return owned
  }

  async waitForJobs(
    name: string,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]> {
    await this.#priorities.update()
    const lists = this.#priorities.listsOf(queues)
    const owner = await this.#ownerIn(name, lists)
    return owner ? this.#waits.run(owner, lists, n, ms, signal) : []
  }

  async join(name: string, about: JoinOptions): Promise<boolean> {
    if (!(await this.#leases.create(name, about.queues, about.seconds, about.host))) return false
    // Another call of this process may have registered the owner during the join, and fetched jobs.
    if (this.#known.get(name)?.left !== false) this.#register(new Owner(name, about.queues))
    return true
  }

  /** Lets an owner hold jobs of one more queue. Returns false when it has no lease. */
  async addQueue(name: string, queue: string): Promise<boolean> {
    return (await this.#ownerIn(name, [queue])) !== undefined
  }

  async release(name: string): Promise<boolean> {
    const owner = await this.#owner(name)
    if (!owner) return false
    owner.left = true
    // Jobs whose answer was lost must go back first; an owner that holds a job can only be claimed.
    await this.#lostAnswers.run(owner).catch(() => {})
    await this.#requeue(owner)
    // The server may still serve a wait whose connection broke. Its job is found only while the owner is listed.
    if (this.#waits.brokeWithin(SERVED_MS)) {
      await this.claim(name)
      this.#known.delete(name)
      return false
    }
    const gone = await this.#leases.remove(owner)
    if (gone) this.#known.delete(name)
    else owner.left = false
    return gone
  }

  async claim(name: string, condition?: ClaimCondition): Promise<boolean> {
    const claimed = await this.#leases.claimLease(name, condition, this.#lastQueues.get(name))
    this.#lastQueues.delete(name)
    if (claimed) await this.#tasks.interrupt(new Set([name]), Date.now())
    return claimed
  }

  close(): void {
    for (const owner of this.#known.values()) {
      owner.left = true
      for (const { signal } of owner.waits) signal.stop()
    }
  }

  /** Returns what this process knows of an owner; an owner that joined in another process is read from the server. */
  async #owner(name: string): Promise<Owner | undefined> {
    const known = this.#known.get(name)
    if (known) return known
    const { queues } = await this.#leases.recordOf(name)
    if (queues.length === 0) return undefined
    return this.#known.get(name) ?? this.#register(new Owner(name, queues))
  }

  /** Remembers an owner, and begins to search at intervals for its jobs whose answer was lost. */
  #register(owner: Owner): Owner {
    owner.reconcileMs = RECONCILE_MS
    this.#known.set(owner.name, owner)
    this.#reconcileIn(owner.name, RECONCILE_MS)
    return owner
  }

  /** Returns the owner once it may hold jobs of these queues; undefined when it has no lease. */
  async #ownerIn(name: string, queues: readonly string[]): Promise<Owner | undefined> {
    const owner = this.#known.get(name) ?? (await this.#owner(name))
    if (!owner) return undefined
    for (const queue of queues) {
      if (!owner.queues.has(queue) && !(await this.#leases.allowQueue(owner, queue))) return undefined
    }
    return owner
  }

  /** Forgets an owner that has lost its lease and ends its waits; its queues are kept for its claim. */
  #fenced(owner: Owner): void {
    for (const { signal } of owner.waits) signal.stop()
    this.#known.delete(owner.name)
    this.#lastQueues.set(owner.name, owner.queues)
  }

  #connect(): Connection {
    this.#connection ??= this.server.connect({ onLost: () => this.#lost() })
    return this.#connection
  }

  /** Searches for the jobs of a lost answer now, and soon again: the server may still carry out the request. */
  #lost(): void {
    for (const [name, owner] of this.#known) {
      owner.reconcileMs = RETRY_MS
      void this.#reconcile(name)
      this.#reconcileIn(name, RETRY_MS)
    }
  }

  async #reconcile(name: string): Promise<void> {
    const owner = this.#known.get(name)
    if (!owner || owner.left) return
    try {
      if (!(await this.#leases.hasLease(owner))) {
        this.#fenced(owner)
        return
      }
      await this.#lostAnswers.run(owner)
      if (owner.undelivered.length > 0) this.#after(REQUEUE_MS, () => this.#requeue(owner))
    } catch {
      this.#reconcileIn(name, RETRY_MS)
    }
  }

  /** Plans a search, and further ones at growing intervals. Does nothing when an earlier search is planned. */
  #reconcileIn(name: string, ms: number): void {
    const owner = this.#known.get(name)
    const at = performance.now() + ms
    if (!owner || owner.reconcileAt <= at) return
    owner.reconcileAt = at
    this.#after(ms, async () => {
      if (owner.reconcileAt !== at) return
      owner.reconcileAt = Number.POSITIVE_INFINITY
      this.#reconcileIn(name, owner.reconcileMs)
      owner.reconcileMs = Math.min(owner.reconcileMs * 2, RECONCILE_MS)
      await this.#reconcile(name)
    })
  }

  /**
   * Moves undelivered jobs back to the front of their queues, unchanged, newest first. After this request no call returns
   * them, because the server may carry it out late.
   */
  async #requeue(owner: Owner): Promise<void> {
    owner.requeuing ??= this.#requeueUndelivered(owner).finally(() => {
      owner.requeuing = undefined
    })
    await owner.requeuing
  }

  async #requeueUndelivered(owner: Owner): Promise<void> {
    owner.requeued.push(...owner.undelivered.splice(0).reverse())
    const asked = [...owner.requeued]
    if (asked.length === 0) return
    const settlements = asked.map(({ queue, ticket, text }) => ({
      queue,
      ticket,
      move: { to: 'queue', queue, text, end: 'front' } as const,
      processed: 0 as const,
      failed: 0 as const,
    }))
    const step = { now: Date.now(), started: [], settlements, fetch: { queues: [], n: 0 } }
    const answer = await this.#script
      .prepare(step)
      .then(() => this.#script.run(owner, step))
      .catch(() => undefined)
    const back = new Set(asked.filter((_, i) => answer && answer.settled[i] !== 'error'))
    owner.requeued = owner.requeued.filter((job) => !back.has(job))
    if (owner.requeued.length > 0 && !owner.left) this.#after(REQUEUE_MS, () => this.#requeue(owner))
  }

  #after(ms: number, work: () => unknown): void {
    const run = () => {
      if (!this.server.isClosed) void work()
    }
    setTimeout(run, ms).unref()
  }
}
