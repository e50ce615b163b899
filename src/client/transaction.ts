/** Collects the pushes of one transaction until it is committed or rolled back. */

import { HighkiqError, messageOf, PushError } from '../job/errors.ts'
import { editPayload, type Payload } from '../job/payload.ts'
import type { OrderedPushes } from '../store/contract.ts'
import type { BulkPlan, Rows } from './bulk.ts'
import type { PreparedPush, PushTarget } from './push-target.ts'
import type { PushRequest } from './request.ts'

/** Microtasks after which middleware counts as waiting for something, which it can't do in a transaction. */
const STEPS = 1000

/** The part of the client that a transaction uses. */
export interface JoiningClient {
  readonly isPlain: boolean
  normalise(request: PushRequest): Payload
  pass(payload: Payload): Promise<Payload | null>
  write(payload: Payload): PreparedPush
}

/** A push made while the function ran. */
interface Joined {
  client: JoiningClient
  payload: Payload
  /** The payload after middleware; undefined until it has answered. */
  passed: Payload | null | undefined
  /** The id that the caller gets. */
  jid: string | null
  resolve: (jid: string | null) => void
  reject: (thrown: unknown) => void
}

/** The batches of one ordered push. */
export interface OrderedPlan {
  batches: OrderedPushes[]
  /** Pushes the items to a target that does not store. */
  pushInto(target: PushTarget): Promise<void>
}

/** An ordered push made while the function ran. */
interface JoinedOrdered {
  /** Undefined until it is known. */
  plan: OrderedPlan | undefined
  resolve: (count: number) => void
  reject: (thrown: unknown) => void
}

export class Transaction {
  readonly #joined: Joined[] = []
  readonly #ordered: JoinedOrdered[] = []
  #open = 0
  #failure: { thrown: unknown } | undefined

  /** Resolves after the commit, rejects when it is rolled back. A push that fails rolls it back. */
  push(client: JoiningClient, request: PushRequest): Promise<string | null> {
    const told = new Promise<string | null>((resolve, reject) => {
      try {
        const payload = client.normalise(request)
        const joined: Joined = { client, payload, passed: undefined, jid: payload.jid, resolve, reject }
        this.#joined.push(joined)
        if (client.isPlain) joined.passed = payload
        else this.#pass(joined)
      } catch (thrown) {
        this.fail(thrown)
        reject(thrown)
      }
    })
    return toldElsewhere(told)
  }

  /** Joins an ordered push; resolves with the number of items. `make` must not wait for anything. */
  pushOrdered(make: () => Promise<OrderedPlan>): Promise<number> {
    const told = new Promise<number>((resolve, reject) => {
      const joined: JoinedOrdered = { plan: undefined, resolve, reject }
      this.#ordered.push(joined)
      this.#begin(
        make().then((plan) => {
          joined.plan = plan
        }),
      )
    })
    return toldElsewhere(told)
  }

  pushEach(client: JoiningClient, rows: Rows, planned: () => BulkPlan): Promise<(string | null)[]> {
    return toldElsewhere(Promise.all(this.#eachOf(client, rows, planned)))
  }

  /** Rolls the transaction back, because something was asked for that can't be part of it. */
  refuse(thrown: unknown): Promise<never> {
    this.fail(thrown)
    return toldElsewhere(Promise.reject(thrown))
  }

  fail(thrown: unknown): void {
    this.#failure ??= { thrown }
  }

  /**
   * What is to be stored. Middleware gets the time that it takes to compute; a job whose middleware waits for something
   * is stored as due now, as far as it has come, and passes the middleware when it is promoted.
   * @throws what any of the pushes failed with
   */
  async finished(now: number): Promise<PreparedPush[]> {
    for (let step = 0; this.#open > 0 && step < STEPS; step++) await undefined
    if (this.#failure) throw this.#failure.thrown
    if (this.#ordered.some(({ plan }) => !plan)) {
      throw new HighkiqError(
        'INVALID_OPTION',
        'prepare, or client middleware, of an ordered job waits for something, for which hq.transaction can not: push it after the commit',
      )
    }
    const all: PreparedPush[] = []
    for (const joined of this.#joined) {
      const { client, payload, passed } = joined
      const finished = passed === null ? null : client.write(passed ?? payload)
      joined.jid = finished?.jid ?? null
      if (finished) all.push(passed ? finished : dueNow(finished, now))
    }
    return all
  }

  /** The plans of ordered pushes; complete after `finished`. */
  get ordered(): OrderedPlan[] {
    return this.#ordered.flatMap(({ plan }) => plan ?? [])
  }

  committed(): void {
    for (const { resolve, plan } of this.#ordered) resolve(plan ? idsOf(plan).length : 0)
    for (const { resolve, jid } of this.#joined) resolve(jid)
  }

  rolledBack(thrown: unknown): void {
    const message = `not pushed, for its transaction was rolled back: ${messageOf(thrown)}`
    const why = (ids: string[]) => new PushError(message, ids, false, { cause: thrown })
    for (const { reject, payload } of this.#joined) reject(why([payload.jid]))
    for (const { reject, plan } of this.#ordered) reject(why(plan ? idsOf(plan) : []))
  }

  /** Starts the middleware at once, so that it sees the async context of the push. */
  #pass(joined: Joined): void {
    this.#begin(
      joined.client.pass(joined.payload).then((passed) => {
        joined.passed = passed
      }),
    )
  }

  #begin(work: Promise<void>): void {
    this.#open++
    work.catch((thrown) => this.fail(thrown)).finally(() => this.#open--)
  }

  #eachOf(client: JoiningClient, rows: Rows, planned: () => BulkPlan): Promise<string | null>[] {
    try {
      const plan = planned()
      if (!(Symbol.iterator in rows)) {
        throw new HighkiqError(
          'INVALID_JOB',
          'what is read by and by can not join a transaction: push an array, or another iterable that is not async',
        )
      }
      const told: Promise<string | null>[] = []
      for (const args of rows) told.push(this.push(client, plan.request(args, told.length)))
      plan.end(told.length)
      return told
    } catch (thrown) {
      return [this.refuse(thrown)]
    }
  }
}

function idsOf({ batches }: OrderedPlan): string[] {
  return batches.flatMap(({ items }) => items.map(({ id }) => id))
}

function dueNow({ jid, destination }: PreparedPush, now: number): PreparedPush {
  if (destination.to !== 'queue') return { jid, destination }
  const text = editPayload(destination.text, { enqueued_at: undefined })
  return { jid, destination: { to: 'schedule', text, score: now / 1000 } }
}

/** Marks a promise as handled: the transaction itself reports the error. */
function toldElsewhere<T>(told: Promise<T>): Promise<T> {
  told.catch(() => {})
  return told
}
