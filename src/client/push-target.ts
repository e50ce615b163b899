/** Where a push goes: a store, a transaction, or a test mode. */

import type { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { codeOf, PushError } from '../job/errors.ts'
import { forEachOf } from '../job/json.ts'
import type { Payload } from '../job/payload.ts'
import type { OnConflict } from '../job/unique.ts'
import {
  type BatchItem,
  type BatchPush,
  type BatchReader,
  type BatchRefusal,
  NOTHING_REFUSED,
  type OrderedPushes,
  type PushItem,
  type RefusedPush,
  type Store,
  type TaskSpec,
} from '../store/contract.ts'
import type { Bulk, BulkPlan } from './bulk.ts'
import { type BulkProgress, bulkFailure } from './bulk-failure.ts'
import type { OrderedNames } from './ordered-names.ts'
import { type Conflict, resolveRefused } from './refused-push.ts'
import type { PushRequest } from './request.ts'
import type { TemplateCache } from './template.ts'

/** A job that is ready to be stored. */
export interface PreparedPush {
  jid: string
  destination: PushItem
  /** The name of the job and its queue; the jid may be that of another job. */
  payload: Payload
  /** The task record of a tracked job. */
  track?: TaskSpec
}

/** The answer to a push. */
export interface Pushed {
  /** The id of the job, or of the job that has its lock; null when middleware stopped the push. */
  jid: string | null
  /** Whether nothing was stored, because another job has the lock, or because an earlier push stored a job with this jid. */
  existing: boolean
  /** The queue for which it was pushed; undefined when middleware stopped it, and in a transaction or a batch. */
  queue?: string
}

/** The new jid of a job, which the caller of the push has made. */
export interface NewJob {
  jid: string
  /** Called right before the job is stored. @throws PushError if another push may have stored a job with this jid */
  confirm(jid: string): void
}

/** The steps of a push before its target: the part of a client that a target calls. */
export interface PushPipe {
  /** Whether there is no middleware. */
  readonly isPlain: boolean
  isDefined(name: string): boolean
  /** Returns a complete payload for a request. @throws INVALID_JOB, INVALID_OPTION */
  normalise(request: PushRequest): Payload
  /** Returns what happens to a push that the store refuses because of a lock. */
  conflict(request: PushRequest): OnConflict
  /** See DirectTarget.replaceHolder. */
  replaceHolder(store: Store, prepared: PreparedPush, conflict: Conflict): Promise<boolean>
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
  /**
   * Resolves with the job's id, null when middleware stopped it: once a store has stored the job, a transaction has
   * committed it, a batch has collected it, or a test mode has kept or run it. @throws PushError
   */
  push(pipe: PushPipe, request: PushRequest, cache?: TemplateCache): Promise<string | null>
  /** Resolves with an id for each row, null where middleware stopped it. @throws PushError */
  pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]>
  /** Resolves with the number of items. @throws PushError */
  pushOrdered(request: OrderedPushRequest): Promise<number>
  /** Adds a batch to what this target stores in one step. Without this method, `apart` stores the batch. */
  pushBatch?(collect: () => Promise<BatchItem>): Promise<void>
  /** Runs work that writes to the store in several steps. @throws INVALID_OPTION if this target can't include it */
  apart<T>(what: string, work: () => Promise<T>): Promise<T>
  /** The ordered queues in the store, in targets that store. */
  readonly orderedNames?: OrderedNames | undefined
  /** The kept jobs, in targets that keep them for a test. */
  readonly collected?: FakeQueues | undefined
}

/** A target that gets each job once middleware and checks have passed it, in contrast to one that keeps jobs for later. */
export abstract class DirectTarget implements PushTarget {
  /** @internal */
  get orderedNames(): OrderedNames | undefined {
    return undefined
  }

  /** @internal */
  get collected(): FakeQueues | undefined {
    return undefined
  }

  /** The batches, in targets that keep them for a test. */
  get batches(): BatchReader | undefined {
    return undefined
  }

  /** Returns the end of a job as text, or why it has none, in targets that run jobs; undefined for a job of the store. */
  endOf(_jid: string): { text: string } | { none: string } | undefined {
    return undefined
  }

  /** Resolves with the refused pushes; those of other callers may be among them. */
  abstract put(job: PreparedPush): Promise<readonly RefusedPush[]>
  abstract putAll(jobs: PreparedPush[]): Promise<readonly RefusedPush[]>
  abstract putOrdered(push: PreparedOrderedPush): Promise<void>
  /** Stores batches with their jobs. Resolves with the jobs that are refused, or with why all are: then nothing is stored. */
  abstract putBatch(push: BatchPush): Promise<BatchRefusal | readonly RefusedPush[]>
  /**
   * Gives the job that has the lock the arguments of a refused push, if it waits. Resolves with false when it has changed,
   * moved or ended meanwhile, and the push may be tried again.
   */
  abstract replaceHolder(pipe: PushPipe, prepared: PreparedPush, conflict: Conflict): Promise<boolean>

  /** A wave has a thousand pushes without an answer, so each makes as few promises as possible. @internal */
  push(pipe: PushPipe, request: PushRequest, cache?: TemplateCache): Promise<string | null> {
    try {
      const prepared = this.#prepare(pipe, request, cache)
      if (!(prepared instanceof Promise)) return this.#storeOne(pipe, request, prepared)
      return prepared.then((passed) => passed && this.#storeOne(pipe, request, passed))
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  /** Like `push`, and says whether the job is another one, or was there before. @throws PushError @internal */
  async pushed(pipe: PushPipe, request: PushRequest, newJob?: NewJob): Promise<Pushed> {
    const preparing = this.#prepare(pipe, request)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    if (!prepared) return { jid: null, existing: false }
    newJob?.confirm(newJob.jid)
    const { queue } = prepared.payload
    if (!mayBeRefused(prepared.destination)) {
      return { jid: await this.#storeOne(pipe, request, prepared), existing: false, queue }
    }
    const refusal = await this.#putOne(prepared)
    const jid = refusal ? await this.#resolve(pipe, request, prepared, refusal) : prepared.jid
    return { jid, existing: jid !== prepared.jid || refusal?.holder === jid, queue }
  }

  #prepare(pipe: PushPipe, request: PushRequest, cache?: TemplateCache): PreparedPush | Promise<PreparedPush | null> {
    const learning = this.#learnOrdered(pipe, request?.class)
    return learning ? learning.then(() => pipe.prepare(request, cache)) : pipe.prepare(request, cache)
  }

  /** Resolves with the id of the stored job, or of the job that has its lock. @throws UNIQUE_CONFLICT, QUEUE_FULL, PushError */
  #storeOne(pipe: PushPipe, request: PushRequest, prepared: PreparedPush): Promise<string> {
    if (mayBeRefused(prepared.destination)) return this.#storeUnlessRefused(pipe, request, prepared)
    const { jid } = prepared
    return this.put(prepared).then(
      () => jid,
      (thrown) => {
        rethrowUnlessAnswered(thrown, [prepared])
        // The shared call failed, but this job is stored.
        return jid
      },
    )
  }

  async #storeUnlessRefused(pipe: PushPipe, request: PushRequest, prepared: PreparedPush): Promise<string> {
    const refusal = await this.#putOne(prepared)
    return refusal ? this.#resolve(pipe, request, prepared, refusal) : prepared.jid
  }

  /** Stores a job. Resolves with why it is refused, if it is. @throws PushError */
  async #putOne(prepared: PreparedPush): Promise<RefusedPush | undefined> {
    const refused = await this.put(prepared).catch((thrown) => {
      rethrowUnlessAnswered(thrown, [prepared])
      return refusedBefore(thrown)
    })
    return refused.find(({ item }) => item === prepared.destination)
  }

  /** Returns the jid for a push that was refused. @throws UNIQUE_CONFLICT, QUEUE_FULL, PushError */
  #resolve(pipe: PushPipe, request: PushRequest, prepared: PreparedPush, refusal: RefusedPush): Promise<string> {
    const { jid, destination } = prepared
    return resolveRefused({
      ...{ name: request.class, jid, destination, refusal, onConflict: pipe.conflict(request) },
      replaceHolder: (conflict) => this.replaceHolder(pipe, prepared, conflict),
      putAgain: () => this.#putOne(prepared),
    })
  }

  /**
   * Resolves the refused pushes of a batch, and notes their jids in `progress`. Returns the first error of a push that stays
   * refused. @throws PushError
   */
  async #resolveAll(
    pipe: PushPipe,
    plan: BulkPlan,
    prepared: readonly PreparedPush[],
    refused: readonly RefusedPush[],
    progress: BulkProgress,
  ): Promise<unknown> {
    const { jids } = progress
    let first: unknown
    for (const [i, refusal] of refused.entries()) {
      const own = prepared.find(({ destination }) => destination === refusal.item) as PreparedPush
      const row = jids.lastIndexOf(own.jid)
      try {
        jids[row] = await this.#resolve(pipe, plan.request([], 0), own, refusal)
      } catch (thrown) {
        if (thrown instanceof PushError) {
          const unresolved = new Set(refused.slice(i).map(({ item }) => item))
          const left = prepared.filter(
            ({ jid, destination }) => unresolved.has(destination) || progress.refused.has(jids.lastIndexOf(jid)),
          )
          throw pushError(thrown, left, ({ jid }) => !thrown.maybePushed || jid !== own.jid, progress)
        }
        if (!codeOf(thrown)) throw thrown
        first ??= thrown
        progress.refused.add(row)
      }
    }
    return first
  }

  /** Stores the jobs batch by batch, and reads at most one batch ahead. @internal */
  async pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]> {
    const plan = pipe.plan(bulk)
    const learning = this.#learnOrdered(pipe, bulk.name)
    if (learning) await learning
    const progress: BulkProgress = { jids: [], sent: 0, refused: new Set() }
    const { jids } = progress
    let batch: PreparedPush[] = []
    let isReading = true
    let isRead = false
    const total = () => (isRead ? jids.length : Array.isArray(bulk.rows) ? bulk.rows.length : undefined)
    const flush = async () => {
      isReading = false
      const prepared = batch
      batch = []
      let refused = NOTHING_REFUSED
      try {
        refused = await this.putAll(prepared)
      } catch (thrown) {
        rethrowUnlessAnswered(thrown, prepared, progress)
        refused = refusedBefore(thrown)
      }
      const first = refused.length > 0 ? await this.#resolveAll(pipe, plan, prepared, refused, progress) : undefined
      progress.sent = jids.length
      if (first !== undefined) throw bulkFailure(bulk.name, first, { ...progress, total: total() })
      isReading = true
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
    try {
      await forEachOf<unknown>(bulk.rows, addRow)
      isRead = true
      plan.end(jids.length)
    } catch (thrown) {
      const row = isRead ? undefined : jids.length
      throw isReading ? bulkFailure(bulk.name, thrown, { ...progress, row, total: total() }) : thrown
    }
    if (batch.length > 0) await flush()
    return jids
  }

  /** @internal */
  async pushOrdered({ name, prepare, run }: OrderedPushRequest): Promise<number> {
    const batches = await prepare()
    await this.putOrdered({ name, batches, run })
    return idsOf(batches).length
  }

  /** @internal */
  apart<T>(_what: string, work: () => Promise<T>): Promise<T> {
    return work()
  }

  /** Loads the names of ordered queues. Returns undefined when they are known already, or not needed. */
  #learnOrdered(pipe: PushPipe, name: string): Promise<void> | undefined {
    return pipe.isDefined(name) ? undefined : this.orderedNames?.refreshed()
  }
}

function mayBeRefused({ unique, maxLength }: PushItem): boolean {
  return unique !== undefined || maxLength !== undefined
}

export function idsOf(batches: readonly OrderedPushes[]): string[] {
  return batches.flatMap(({ items }) => items.map(({ id }) => id))
}

/**
 * Returns if the failed call has nevertheless stored or refused each job of `prepared`: then these pushes have not failed.
 * Otherwise it throws. A PushError of a store names payloads only, so the thrown one names the jobs. `bulk` is how far a
 * bulk came before them.
 */
function rethrowUnlessAnswered(thrown: unknown, prepared: PreparedPush[], bulk?: BulkProgress): void {
  if (!(thrown instanceof PushError)) throw thrown
  const { maybePushed, parts } = thrown
  const left = prepared.filter(({ destination }) => !parts?.stored.has(destination))
  const answered = new Set(parts?.refusals?.map(({ item }) => item))
  if (left.every(({ destination }) => answered.has(destination))) return
  throw pushError(thrown, left, ({ destination }) => !maybePushed || parts?.notStored.has(destination) === true, bulk)
}

/** Returns a PushError about the jobs of `left`, of which `isNotPushed` tells those that are certainly not stored. */
function pushError(
  { message, cause }: PushError,
  left: readonly PreparedPush[],
  isNotPushed: (job: PreparedPush) => boolean,
  bulk?: BulkProgress,
): PushError {
  const jids = left.map(({ jid }) => jid)
  const notPushed = left.filter(isNotPushed).map(({ jid }) => jid)
  const about = bulk && rowsOf(bulk, new Set(jids), new Set(notPushed))
  return new PushError(message, jids, notPushed.length < jids.length, { cause, notPushed, ...about })
}

/** Returns the pushes that a store refused before its call failed. */
function refusedBefore(thrown: unknown): readonly RefusedPush[] {
  return ((thrown as PushError).parts?.refusals ?? NOTHING_REFUSED) as readonly RefusedPush[]
}

/** Returns the details of a PushError that only a bulk has; see bulkFailure. */
function rowsOf({ jids, sent }: BulkProgress, unsure: ReadonlySet<string>, notPushed: ReadonlySet<string>) {
  return {
    pushed: jids.flatMap((jid) => (jid === null || unsure.has(jid) ? [] : jid)),
    rows: jids.flatMap((jid, row) => (row >= sent && jid !== null && notPushed.has(jid) ? row : [])),
    next: jids.length,
  }
}
