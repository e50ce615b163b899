/** Who stores the jobs that are pushed: the app's store, unless something else stands in its place for a while. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'
import { inSteps } from '../job/push-steps.ts'
import type { PushItem, Store, TaskSpec } from '../store/contract.ts'
import { resend } from './resend.ts'

/** A job that is ready to be stored. */
export interface PreparedPush {
  jid: string
  destination: PushItem
  /** The record that it gets. */
  track?: TaskSpec
}

/** An item of an ordered queue, as it would be stored. */
export interface OrderedPushed {
  id: string
  payload: unknown
  score: number
  /** Seconds since the epoch. */
  performIn: number
}

/** What was pushed to an ordered queue, for who keeps or runs it instead of storing it. */
export interface OrderedPushBatch {
  /** Of the ordered queue. */
  name: string
  items: readonly OrderedPushed[]
  /** In this process, inside the chain, one batch after another. @throws what the handler throws */
  run(items: readonly OrderedPushed[], chain: Chain<JobContext, unknown>): Promise<void>
}

/** The jobs that highkiq/testing keeps instead of storing them. */
export interface FakeQueues {
  jobs(name: string): Payload[]
  drain(name: string): Promise<number>
  performOne(name: string): Promise<unknown>
  clear(name: string): void
  /** Of an ordered queue. */
  ordered(name: string): readonly OrderedPushed[]
}

/** Resolves when the jobs are stored. @throws PushError */
export interface PushTarget {
  push(job: PreparedPush): Promise<void>
  pushAll(jobs: PreparedPush[]): Promise<void>
  /** Of those that stand in the store's place. */
  pushOrdered?(pushes: OrderedPushBatch): Promise<void>
  /** Of one that stores. */
  readonly store?: () => Store
  /** What it keeps, if it keeps jobs for a test. */
  readonly collected?: FakeQueues
}

/** Jobs of one bulk push, or of one turn of the event loop, that are stored in one step. */
export const BULK = 1000

interface Batch {
  items: PushItem[]
  stored: Promise<void>
}

export class StoreTarget implements PushTarget {
  readonly store: () => Store
  readonly #now: () => number
  #batch: Batch | undefined

  constructor(store: () => Store, now: () => number) {
    this.store = store
    this.#now = now
  }

  push({ destination, track }: PreparedPush): Promise<void> {
    if (track) return this.store().tasks.pushTracked([{ task: track, item: destination }], this.#now())
    // In steps of their own: what is wrong with one that is stored once must not reject those that were stored.
    return destination.once
      ? resend(() => this.store().jobs.push([destination], this.#now()))
      : this.#batched(destination)
  }

  async pushAll(jobs: PreparedPush[]): Promise<void> {
    const tracked = jobs.flatMap(({ track, destination }) => (track ? { task: track, item: destination } : []))
    const items = jobs.flatMap(({ track, destination }) => (track ? [] : destination))
    const put = () => this.store().jobs.push(items, this.#now())
    const steps = [
      { items: tracked.map(({ item }) => item), put: () => this.store().tasks.pushTracked(tracked, this.#now()) },
      { items, put: () => (items.every(({ once }) => once) ? resend(put) : put()) },
    ]
    await inSteps(steps.filter((step) => step.items.length > 0))
  }

  /** Everything that is pushed in one turn of the event loop is stored in one call, or in one for each thousand. */
  #batched(item: PushItem): Promise<void> {
    let batch = this.#batch
    // A store may store more than a thousand in several steps, and of its error nobody could tell whom it concerns.
    if (!batch || batch.items.length >= BULK) {
      const items: PushItem[] = []
      const stored = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        if (this.#batch?.items === items) this.#batch = undefined
        return this.store().jobs.push(items, this.#now())
      })
      batch = { items, stored }
      this.#batch = batch
    }
    batch.items.push(item)
    return batch.stored
  }
}

/** What stands in the place of something: everywhere, or within one function and all that it calls and awaits. */
export class Override<Thing> {
  #everywhere: Thing | undefined
  /** Made when it is first needed: it makes every promise of the process a little dearer. */
  #scopes: AsyncLocalStorage<{ thing: Thing | undefined }> | undefined

  get current(): Thing | undefined {
    const scope = this.#scopes?.getStore()
    return scope ? scope.thing : this.#everywhere
  }

  /** Whether this is called within a scope. */
  get isScoped(): boolean {
    return this.#scopes?.getStore() !== undefined
  }

  set everywhere(thing: Thing | undefined) {
    this.#everywhere = thing
  }

  get everywhere(): Thing | undefined {
    return this.#everywhere
  }

  /** Undefined: within `work` nothing stands in its place. */
  within<T>(thing: Thing | undefined, work: () => T): T {
    this.#scopes ??= new AsyncLocalStorage()
    return this.#scopes.run({ thing }, work)
  }
}
