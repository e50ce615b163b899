/** Where a push goes: a store, a transaction, or a test mode. */

import type { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { PushError } from '../job/errors.ts'
import { forEachOf } from '../job/json.ts'
import type { Payload } from '../job/payload.ts'
import type { OrderedPushes, PushItem, TaskSpec } from '../store/contract.ts'
import type { Bulk, BulkPlan } from './bulk.ts'
import type { OrderedNames } from './ordered-names.ts'
import type { PushRequest } from './request.ts'
import type { TemplateCache } from './template.ts'

/** A job that is ready to be stored. */
export interface PreparedPush {
  jid: string
  destination: PushItem
  /** The task record of a tracked job. */
  track?: TaskSpec
}

/** The steps of a push before its target: the part of a client that a target calls. */
export interface PushPipe {
  /** Whether there is no middleware. */
  readonly isPlain: boolean
  isDefined(name: string): boolean
  /** Returns a complete payload for a request. @throws INVALID_JOB, INVALID_OPTION */
  normalise(request: PushRequest): Payload
  /** Runs the client middleware; returns null when it stopped the push. @throws INVALID_JOB */
  pass(payload: Payload): Promise<Payload | null>
  /** Checks a payload and turns it into JSON and its destination. @throws INVALID_ARGS, ARGS_TOO_LARGE */
  write(payload: Payload, once?: boolean): PreparedPush
  /**
   * Runs all these steps; returns null when middleware stopped the push. Without middleware it returns no promise. The
   * pushes with the same `cache` differ only in their arguments.
   */
  prepare(request: PushRequest, cache?: TemplateCache): PreparedPush | Promise<PreparedPush | null>
  /** @throws INVALID_JOB, INVALID_OPTION */
  plan<Args extends unknown[]>(bulk: Bulk<Args>): BulkPlan
}

/** An item that was pushed to an ordered queue. */
export interface OrderedPushed {
  id: string
  payload: unknown
  score: number
  /** Seconds since the epoch. */
  performIn: number
}

/** A push of many items to an ordered queue. */
export interface OrderedPushRequest {
  name: string
  /** Checks the items, and runs the client middleware. */
  prepare(): Promise<OrderedPushes[]>
  /** Runs items in this process inside the chain, one batch after another. @throws what the handler throws */
  run(items: readonly OrderedPushed[], chain: Chain<JobContext, unknown>): Promise<void>
}

/** Items of an ordered queue that are ready to be stored. */
export interface PreparedOrderedPush extends Pick<OrderedPushRequest, 'name' | 'run'> {
  batches: OrderedPushes[]
}

/** The jobs that `fake` of highkiq/testing keeps in memory. */
export interface FakeQueues {
  jobs(name: string): Payload[]
  drain(name: string): Promise<number>
  performOne(name: string): Promise<unknown>
  clear(name: string): void
  ordered(name: string): readonly OrderedPushed[]
}

export interface PushTarget {
  /** Resolves with the job's id when it is stored; with null when middleware stopped it. @throws PushError */
  push(pipe: PushPipe, request: PushRequest, cache?: TemplateCache): Promise<string | null>
  /** Resolves with an id for each row, null where middleware stopped it. @throws PushError */
  pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]>
  /** Resolves with the number of items. @throws PushError */
  pushOrdered(request: OrderedPushRequest): Promise<number>
  /** Runs work that writes to the store in several steps. @throws INVALID_OPTION if this target can't include it */
  apart<T>(what: string, work: () => Promise<T>): Promise<T>
  /** The ordered queues in the store, in targets that store. */
  readonly orderedNames?: OrderedNames | undefined
  /** The kept jobs, in targets that keep them for a test. */
  readonly collected?: FakeQueues | undefined
}

/** A target that gets each job once middleware and checks have passed it, in contrast to one that keeps jobs for later. */
export abstract class DirectTarget implements PushTarget {
  get orderedNames(): OrderedNames | undefined {
    return undefined
  }

  get collected(): FakeQueues | undefined {
    return undefined
  }

  abstract put(job: PreparedPush): Promise<void>
  abstract putAll(jobs: PreparedPush[]): Promise<void>
  abstract putOrdered(push: PreparedOrderedPush): Promise<void>

  async push(pipe: PushPipe, request: PushRequest, cache?: TemplateCache): Promise<string | null> {
    const learning = this.#learnOrdered(pipe, request?.class)
    if (learning) await learning
    const preparing = pipe.prepare(request, cache)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    if (!prepared) return null
    try {
      await this.put(prepared)
    } catch (thrown) {
      const failure = withJobIds(thrown, [prepared])
      if (failure !== undefined) throw failure
    }
    return prepared.jid
  }

  /** Stores the jobs batch by batch, and reads at most one batch ahead. */
  async pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]> {
    const plan = pipe.plan(bulk)
    const learning = this.#learnOrdered(pipe, bulk.name)
    if (learning) await learning
    const jids: (string | null)[] = []
    let batch: PreparedPush[] = []
    const flush = async () => {
      const prepared = batch
      batch = []
      try {
        await this.putAll(prepared)
      } catch (thrown) {
        const failure = withJobIds(thrown, prepared, jids)
        if (failure !== undefined) throw failure
      }
    }
    const add = (prepared: PreparedPush | null): Promise<void> | undefined => {
      jids.push(prepared?.jid ?? null)
      if (prepared) batch.push(prepared)
      return batch.length < plan.batchSize ? undefined : flush()
    }
    const addRow = (args: unknown): Promise<void> | undefined => {
      const preparing = pipe.prepare(plan.request(args, jids.length), plan.cache)
      return preparing instanceof Promise ? preparing.then(add) : add(preparing)
    }
    await forEachOf<unknown>(bulk.rows, addRow)
    plan.end(jids.length)
    if (batch.length > 0) await flush()
    return jids
  }

  async pushOrdered({ name, prepare, run }: OrderedPushRequest): Promise<number> {
    const batches = await prepare()
    await this.putOrdered({ name, batches, run })
    return idsOf(batches).length
  }

  apart<T>(_what: string, work: () => Promise<T>): Promise<T> {
    return work()
  }

  /** Loads the names of ordered queues. Returns undefined when they are known already, or not needed. */
  #learnOrdered(pipe: PushPipe, name: string): Promise<void> | undefined {
    return pipe.isDefined(name) ? undefined : this.orderedNames?.refreshed()
  }
}

export function idsOf(batches: readonly OrderedPushes[]): string[] {
  return batches.flatMap(({ items }) => items.map(({ id }) => id))
}

/**
 * Adds the ids of the jobs to a store's PushError, which names payloads only. Returns undefined when all of `prepared` are
 * stored after all. `all` holds the ids of the whole call.
 */
function withJobIds(thrown: unknown, prepared: PreparedPush[], all: readonly (string | null)[] = []): unknown {
  if (!(thrown instanceof PushError)) return thrown
  const { message, maybePushed, parts, cause } = thrown
  const left = prepared.filter(({ destination }) => !parts?.stored.has(destination))
  if (left.length === 0) return undefined
  const jids = left.map(({ jid }) => jid)
  const refused = maybePushed ? left.filter(({ destination }) => parts?.refused.has(destination)) : left
  const unsure = new Set(jids)
  const pushed = all.flatMap((jid) => (jid === null || unsure.has(jid) ? [] : jid))
  const notPushed = refused.map(({ jid }) => jid)
  return new PushError(message, jids, notPushed.length < jids.length, { cause, notPushed, pushed })
}
