/** Keeps pushed jobs in memory until a test runs them. */

import type {
  FakeQueues,
  OrderedPushed,
  OrderedPushRequest,
  PreparedOrderedPush,
  PreparedPush,
  PushPipe,
} from '../client/push-target.ts'
import type { Conflict } from '../client/refused-push.ts'
import { HighkiqError } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import { baseQueue, priorityOf } from '../job/priority.ts'
import { NOTHING_REFUSED, type RefusedPush } from '../store/contract.ts'
import { arrived, itemsOf, TestTarget } from './mode.ts'

export class Fake extends TestTarget implements FakeQueues {
  readonly #all: Payload[] = []
  /** The jobs that were pushed, by class and by queue. The array of a name is never replaced. */
  readonly #byName = new Map<string, Payload[]>()
  readonly #byQueue = new Map<string, Payload[]>()
  /** The items that were pushed to each ordered queue, by its name. */
  readonly #ordered = new Map<string, { items: OrderedPushed[]; run: OrderedPushRequest['run'] }>()

  /** @internal */
  override get collected(): FakeQueues {
    return this
  }

  /** Refuses a unique job while another job has its lock, and a job whose queue is full. @internal */
  async put(job: PreparedPush): Promise<readonly RefusedPush[]> {
    const refusal = this.refusalOf(job)
    if (refusal) return [refusal]
    const payload = arrived(this.app, job)
    const { maxLength, to } = job.destination
    const isFull = to === 'queue' && maxLength !== undefined && this.queue(payload.queue).length >= maxLength
    if (isFull) return [{ item: job.destination, holder: null, due: null }]
    await this.accept(payload)
    return NOTHING_REFUSED
  }

  protected async accept(payload: Payload): Promise<void> {
    this.begin(payload)
    this.locks.acquire(payload)
    for (const list of this.#listsOf(payload)) list.push(payload)
  }

  /** @internal */
  async replaceHolder(_pipe: PushPipe, job: PreparedPush, { how, holder, at }: Conflict): Promise<boolean> {
    const waiting = this.#all.find(({ jid }) => jid === holder)
    // A job that runs or has ended keeps its arguments.
    if (!waiting) return this.locks.isHolder(holder)
    waiting.args = arrived(this.app, job).args
    if (how === 'debounce' && waiting.at !== undefined) waiting.at = at ?? this.app.now() / 1000
    return true
  }

  /** @internal */
  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    const { name, run } = push
    const items = itemsOf(push)
    const kept = this.#ordered.get(name)
    if (kept) kept.items.push(...items)
    else this.#ordered.set(name, { items, run })
  }

  /** Returns pushed items of an ordered queue that have not run, in order. */
  ordered(name: string): readonly OrderedPushed[] {
    return this.#ordered.get(name)?.items ?? []
  }

  /** Returns pushed jobs that have not run, of one job or of all, in order. */
  jobs(name?: string): Payload[] {
    return name === undefined ? this.#all : listOf(this.#byName, name)
  }

  queue(name: string): Payload[] {
    return listOf(this.#byQueue, name)
  }

  /** Runs jobs, and those that they push, until none is left. @returns how many; @throws what a handler throws */
  async drain(name?: string): Promise<number> {
    const jobs = this.jobs(name)
    let n = 0
    for (;;) {
      for (; jobs.length > 0; n++) await this.performOne(name)
      const ran = await this.#drainOrdered(name)
      if (ran === 0) return n
      n += ran
    }
  }

  /** Returns the number of items that ran. */
  async #drainOrdered(name?: string): Promise<number> {
    let n = 0
    for (const [one, { items, run }] of this.#ordered) {
      if (items.length === 0 || (name !== undefined && name !== one)) continue
      const all = items.splice(0)
      n += all.length
      await run(all, this.server)
    }
    return n
  }

  /**
   * Runs the next job: the oldest one, or before it one of its queue with a higher priority that is not scheduled.
   * @returns what its handler returns; @throws EMPTY_QUEUE, and what the handler throws
   */
  async performOne(name?: string): Promise<unknown> {
    const next = nextOf(this.jobs(name))
    if (!next) {
      const which = name === undefined ? 'no job' : `no ${name}`
      throw new HighkiqError('EMPTY_QUEUE', `${which} waits to be run: nothing was pushed, or it has run`)
    }
    this.#remove(next)
    return this.run(next)
  }

  /** Forgets jobs, and the locks that they have or had. */
  clear(name?: string): void {
    this.locks.clear((holder) => name === undefined || nameOf(holder) === name)
    for (const job of [...this.jobs(name)]) this.#remove(job)
    for (const [one, { items }] of this.#ordered) if (name === undefined || name === one) items.splice(0)
  }

  #remove(job: Payload): void {
    for (const list of this.#listsOf(job)) {
      const at = list.indexOf(job)
      if (at >= 0) list.splice(at, 1)
    }
  }

  #listsOf(payload: Payload): Payload[][] {
    return [this.#all, listOf(this.#byName, nameOf(payload)), listOf(this.#byQueue, payload.queue)]
  }
}

function nameOf({ class: name, wrapped = name }: Payload): string {
  return wrapped
}

function nextOf(jobs: readonly Payload[]): Payload | undefined {
  const queue = jobs[0] && baseQueue(jobs[0].queue)
  const rankOf = (job: Payload) => (job.at === undefined && baseQueue(job.queue) === queue ? priorityOf(job.queue) : 0)
  return jobs.reduce((next, job) => (rankOf(job) > rankOf(next) ? job : next), jobs[0] as Payload)
}

function listOf(lists: Map<string, Payload[]>, name: string): Payload[] {
  let list = lists.get(name)
  if (!list) {
    list = []
    lists.set(name, list)
  }
  return list
}
