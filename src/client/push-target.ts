/** Where a push goes: the app's store, another store, or a test mode. */

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
  /** The task record of a tracked job. */
  track?: TaskSpec
}

/** An item that was pushed to an ordered queue. */
export interface OrderedPushed {
  id: string
  payload: unknown
  score: number
  /** Seconds since the epoch. */
  performIn: number
}

/** Items of an ordered queue for a target that keeps or runs them instead of storing them. */
export interface OrderedPushBatch {
  /** The name of the ordered queue. */
  name: string
  items: readonly OrderedPushed[]
  /** Runs items in this process inside the chain, one batch after another. @throws what the handler throws */
  run(items: readonly OrderedPushed[], chain: Chain<JobContext, unknown>): Promise<void>
}

/** The jobs that `fake` of highkiq/testing keeps in memory. */
export interface FakeQueues {
  jobs(name: string): Payload[]
  drain(name: string): Promise<number>
  performOne(name: string): Promise<unknown>
  clear(name: string): void
  /** Returns the items of an ordered queue. */
  ordered(name: string): readonly OrderedPushed[]
}

/** Resolves when the jobs are stored. @throws PushError */
export interface PushTarget {
  push(job: PreparedPush): Promise<void>
  pushAll(jobs: PreparedPush[]): Promise<void>
  /** Takes ordered items, in targets that do not store. */
  pushOrdered?(pushes: OrderedPushBatch): Promise<void>
  /** The store, in targets that store. */
  readonly store?: () => Store
  /** The kept jobs, in targets that keep them for a test. */
  readonly collected?: FakeQueues
}

/** The most jobs that are stored in one step. */
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
    // An idempotent push gets a call of its own, so that its error does not reject other pushes.
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

  /** Stores all pushes of one turn of the event loop in one call, at most BULK jobs each. */
  #batched(item: PushItem): Promise<void> {
    let batch = this.#batch
    // Above BULK a store may need several steps, and its error would not say which jobs failed.
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

/** A value that can be replaced everywhere, or within one function and all that it calls and awaits. */
export class Override<Thing> {
  #everywhere: Thing | undefined
  /** Created on first use, because AsyncLocalStorage makes every promise slower. */
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

  /** Runs `work` with `thing` as the current value; undefined means no replacement. */
  within<T>(thing: Thing | undefined, work: () => T): T {
    this.#scopes ??= new AsyncLocalStorage()
    return this.#scopes.run({ thing }, work)
  }
}
