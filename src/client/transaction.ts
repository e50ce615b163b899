/** `hq.transaction`: stores jobs and rows of your own in one commit, or not at all. */

import type { AppPort } from '../app/port.ts'
import { recordingOf } from '../events/recording.ts'
import { HighkiqError, invalidJob, invalidOption, messageOf, PushError } from '../job/errors.ts'
import { editPayload, type Payload } from '../job/payload.ts'
import { queueFull } from '../job/queue-full.ts'
import type { OnConflict } from '../job/unique.ts'
import type { OrderedPushes, PushItem, RefusedPush, SqlConnection, TransactionItem } from '../store/contract.ts'
import type { Bulk } from './bulk.ts'
import { type OrderedNames, orderedNamesOf } from './ordered-names.ts'
import { addPushEvent } from './push-events.ts'
import {
  idsOf,
  type OrderedPushRequest,
  type PreparedOrderedPush,
  type PreparedPush,
  type PushPipe,
  type PushTarget,
} from './push-target.ts'
import { uniqueConflict } from './refused-push.ts'
import type { PushRequest } from './request.ts'

/** Microtasks after which middleware counts as waiting for something, which it can't do in a transaction. */
const STEPS = 1000

/** A push made while the function ran. */
interface Joined {
  pipe: PushPipe
  payload: Payload
  conflict: 'drop' | 'raise'
  /** The items to store; complete after `finished`. */
  item?: PushItem
  /** The payload after middleware; undefined until it has answered. */
  passed: Payload | null | undefined
  /** The id that the caller gets. */
  jid: string | null
  resolve: (jid: string | null) => void
  reject: (thrown: unknown) => void
}

/** An ordered push made while the function ran; `batches` is undefined until it is prepared. */
interface JoinedOrdered {
  request: OrderedPushRequest
  batches?: OrderedPushes[]
  resolve: (count: number) => void
  reject: (thrown: unknown) => void
}

/** Collects the pushes of one transaction until it is committed or rolled back. */
export class Transaction implements PushTarget {
  readonly orderedNames: OrderedNames | undefined
  readonly #joined: Joined[] = []
  readonly #ordered: JoinedOrdered[] = []
  #open = 0
  #failure: { thrown: unknown } | undefined

  constructor(orderedNames: OrderedNames | undefined) {
    this.orderedNames = orderedNames
  }

  /** Resolves after the commit, rejects when it is rolled back. A push that fails rolls it back. */
  push(pipe: PushPipe, request: PushRequest): Promise<string | null> {
    const pushed = new Promise<string | null>((resolve, reject) => {
      try {
        const payload = pipe.normalise(request)
        const conflict = payload.hk_unique === undefined ? 'drop' : refuseChange(request.class, pipe.conflict(request))
        const joined: Joined = { pipe, payload, conflict, passed: undefined, jid: payload.jid, resolve, reject }
        this.#joined.push(joined)
        if (pipe.isPlain) joined.passed = payload
        else {
          // The middleware starts at once, so that it sees the async context of the push.
          this.#begin(pipe.pass(payload), (passed) => {
            joined.passed = passed
          })
        }
      } catch (thrown) {
        this.fail(thrown)
        reject(thrown)
      }
    })
    return handled(pushed)
  }

  pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]> {
    return handled(Promise.all(this.#eachOf(pipe, bulk)))
  }

  /** The request must not wait for anything. */
  pushOrdered(request: OrderedPushRequest): Promise<number> {
    const pushed = new Promise<number>((resolve, reject) => {
      const joined: JoinedOrdered = { request, resolve, reject }
      this.#ordered.push(joined)
      this.#begin(request.prepare(), (batches) => {
        joined.batches = batches
      })
    })
    return handled(pushed)
  }

  /** Rolls the transaction back, because this work can't be part of it. */
  apart<T>(what: string, _work: () => Promise<T>): Promise<T> {
    return this.#refuse(invalidOption(`${what} inside hq.transaction can't be part of it: do it after the commit`))
  }

  fail(thrown: unknown): void {
    this.#failure ??= { thrown }
  }

  /**
   * Returns the jobs to store. Middleware gets the time that it takes to compute; a job whose middleware waits for
   * something is stored as due now, as far as it has come, and passes the middleware when it is promoted.
   * @throws the error of any of the pushes
   */
  async finished(now: number): Promise<PreparedPush[]> {
    for (let step = 0; this.#open > 0 && step < STEPS; step++) await undefined
    if (this.#failure) throw this.#failure.thrown
    if (this.#ordered.some(({ batches }) => !batches)) {
      throw invalidOption(
        "hq.transaction can't wait for the asynchronous prepare or client middleware of an ordered job: push it after the commit",
      )
    }
    const all: PreparedPush[] = []
    for (const joined of this.#joined) {
      const { pipe, payload, passed } = joined
      const prepared = passed === null ? null : pipe.write(passed ?? payload)
      joined.jid = prepared?.jid ?? null
      const ready = prepared && !passed ? dueNow(prepared, now) : prepared
      if (!ready) continue
      joined.item = ready.destination
      all.push(ready)
    }
    return all
  }

  /** The store has refused pushes: callers get the jids of the holders of locks. @throws UNIQUE_CONFLICT, QUEUE_FULL */
  readonly refused = (pushes: readonly RefusedPush[]): void => {
    for (const { item, holder } of pushes) {
      const joined = this.#joined.find((one) => one.item === item) as Joined
      // A store rejects the transaction itself; the modes of highkiq/testing do not.
      if (holder === null) throw queueFull(joined.payload.class, joined.payload.queue, item.maxLength as number)
      if (joined.conflict === 'raise' && holder !== joined.jid) throw uniqueConflict(joined.payload.class, holder)
      joined.jid = holder
    }
  }

  /** The ordered pushes; complete after `finished`. */
  get ordered(): PreparedOrderedPush[] {
    return this.#ordered.map(({ request: { name, run }, batches = [] }) => ({ name, run, batches }))
  }

  committed(): void {
    for (const { resolve, batches = [] } of this.#ordered) resolve(idsOf(batches).length)
    for (const { resolve, jid } of this.#joined) resolve(jid)
  }

  rolledBack(thrown: unknown): void {
    const message = `not pushed, because its transaction was rolled back: ${messageOf(thrown)}`
    const why = (ids: string[]) => new PushError(message, ids, false, { cause: thrown })
    for (const { reject, payload } of this.#joined) reject(why([payload.jid]))
    for (const { reject, batches = [] } of this.#ordered) reject(why(idsOf(batches)))
  }

  #begin<T>(work: Promise<T>, done: (result: T) => void): void {
    this.#open++
    work
      .then(done)
      .catch((thrown) => this.fail(thrown))
      .finally(() => this.#open--)
  }

  #refuse(thrown: unknown): Promise<never> {
    this.fail(thrown)
    return handled(Promise.reject(thrown))
  }

  #eachOf<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<string | null>[] {
    try {
      const plan = pipe.plan(bulk)
      const { rows } = bulk
      if (!(Symbol.iterator in rows)) {
        const message =
          "rows that are read asynchronously can't join a transaction: push an array, or another iterable that is not async"
        throw invalidJob(message)
      }
      const pushed: Promise<string | null>[] = []
      for (const args of rows) pushed.push(this.push(pipe, plan.request(args, pushed.length)))
      plan.end(pushed.length)
      return pushed
    } catch (thrown) {
      return [this.#refuse(thrown)]
    }
  }
}

function dueNow(prepared: PreparedPush, now: number): PreparedPush {
  const { destination } = prepared
  if (destination.to !== 'queue') return prepared
  const { unique, effects } = destination
  const text = editPayload(destination.text, { enqueued_at: undefined })
  const more = { ...(unique ? { unique } : {}), ...(effects ? { effects } : {}) }
  const item: PushItem = { to: 'schedule', text, score: now / 1000, ...more }
  return { ...prepared, destination: item }
}

/** Marks a promise as handled: the transaction itself reports the error. */
function handled<T>(pushed: Promise<T>): Promise<T> {
  pushed.catch(() => {})
  return pushed
}

/**
 * Runs `work` once, in a write transaction of its own, and stores what it pushes in the same commit.
 * @throws what `work` throws; NO_TRANSACTION; INVALID_OPTION when `work` is asynchronous. Then nothing is stored
 */
export function transact<T>(app: AppPort, work: (connection: SqlConnection) => T): Promise<T> {
  return app.client.target.apart('hq.transaction', () => begin(app, work))
}

async function begin<T>(app: AppPort, work: (connection: SqlConnection) => T): Promise<T> {
  const { client, store, now } = app
  if (!store.jobs.transaction) {
    if (store.jobs.pushThrough) throw typeof work === 'function' ? needsConnection() : needsWork()
    const message = `${store.url} has no transactions for your own rows: commit them first, then push, or keep the jobs beside them, in SQLite or PostgreSQL`
    throw new HighkiqError('NO_TRANSACTION', message)
  }
  if (typeof work !== 'function' || isAsync(work)) throw notSynchronous()
  const testing = client.testing.current
  const transaction = new Transaction(testing ? undefined : orderedNamesOf(store))
  let finished: PreparedPush[] = []
  let result: T | undefined
  const run = async (connection: SqlConnection): Promise<TransactionItem[]> => {
    result = client.joining(transaction, () => work(connection))
    if (isThenable(result)) {
      // The work can't be stopped, and its result no longer matters.
      result.then(undefined, () => {})
      throw notSynchronous()
    }
    finished = await transaction.finished(now())
    if (testing) return []
    if (recording.mayBeOn()) for (const one of finished) addPushEvent(one, now())
    return transactionItems(finished, transaction.ordered)
  }
  const recording = recordingOf(store, now)
  await recording.refreshed()
  try {
    await store.jobs.transaction(run, now(), transaction.refused)
  } catch (thrown) {
    transaction.rolledBack(thrown)
    throw thrown
  }
  if (testing) transaction.refused(await testing.putAll(finished))
  transaction.committed()
  if (testing) for (const push of transaction.ordered) await testing.putOrdered(push)
  return result as T
}

/** @throws INVALID_OPTION for a conflict that changes another job */
export function refuseChange(name: string, conflict: OnConflict): 'drop' | 'raise' {
  if (conflict === 'drop' || conflict === 'raise') return conflict
  throw invalidOption(
    `${name}: onConflict: '${conflict}' does not work inside hq.transaction: push after the commit, or use 'drop' or 'raise'`,
  )
}

export function transactionItems(
  jobs: readonly PreparedPush[],
  ordered: readonly PreparedOrderedPush[],
): TransactionItem[] {
  const items = jobs.map(({ destination, track }) => (track ? { task: track, item: destination } : destination))
  return [...items, ...ordered.flatMap(({ batches }) => batches)]
}

function isAsync(work: unknown): boolean {
  return Object.prototype.toString.call(work) === '[object AsyncFunction]'
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function needsConnection(): HighkiqError {
  const message = 'hq.transaction on PostgreSQL takes a client or a pool of pg first: hq.transaction(client, work)'
  return new HighkiqError('NO_TRANSACTION', message)
}

function needsWork(): HighkiqError {
  return invalidOption(
    'hq.transaction: the second argument must be a function that pushes the jobs: hq.transaction(pool, async (client) => …)',
  )
}

function notSynchronous(): HighkiqError {
  return invalidOption(
    'hq.transaction: the function must be synchronous and must not return a promise, because no other process can write while it runs. Fetch what it needs before, and neither await nor return its pushes',
  )
}
