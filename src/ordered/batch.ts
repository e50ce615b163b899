/** Runs one batch and decides how each of its ids ended. */

import { DELAY_WORDS, delayOf, jitter } from '../job/backoff.ts'
import { runLinks } from '../job/chain.ts'
import { HighkiqError, isCausedBy, type Snooze, verdictOf } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { shown } from '../job/options.ts'
import { newJid, type Payload } from '../job/payload.ts'
import type { FetchedBatch, OrderedEnd } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { Running } from '../worker/executor.ts'
import type { Outcome } from '../worker/plugin.ts'
import { storedMessage } from '../worker/run/retry.ts'
import { idFields, OrderedContext } from './context.ts'
import { type OrderedDeath, type OrderedDefinition, retryDelay } from './definition.ts'
import { scoredValue } from './entry.ts'

const DONE: OrderedEnd = { kind: 'done' }
const REQUEUE: OrderedEnd = { kind: 'requeue' }
const CANCELLED: OrderedEnd = { kind: 'cancelled' }
/** The outcome that plugins get for a failed batch: each id has its own error and time. */
const FAILED: Outcome = { kind: 'retry', error: undefined, at: 0, count: 0 }
/** Seconds until a released batch is due again. */
const RELEASE_SECONDS = 1

export class Batch implements Running {
  readonly definition: OrderedDefinition
  readonly ids: readonly FetchedBatch[]
  readonly payload: Payload
  readonly ctx: OrderedContext
  readonly startedAt: number
  readonly slot: number
  /** The time at which the handler was called, on the monotonic clock; 0 before. */
  began = 0
  /** The result of the batch is ignored, because its ids belong to another owner now. */
  isLost = false
  readonly #engine: Engine
  #cancelled: Set<string> | undefined

  constructor(
    engine: Engine,
    definition: OrderedDefinition,
    ids: readonly FetchedBatch[],
    { shard, token, slot }: { shard: number; token: number; slot: number },
  ) {
    this.#engine = engine
    this.definition = definition
    this.ids = ids
    this.slot = slot
    const { name, queue } = definition
    const [{ retryCount }] = ids as [FetchedBatch]
    this.payload = { class: name, args: [], queue, jid: newJid() }
    if (retryCount >= 0) this.payload.retry_count = retryCount
    this.ctx = new OrderedContext(this.payload, { name, shard, token, ids }, engine)
    this.startedAt = engine.now()
  }

  /** The batch as the list of running jobs shows it. */
  get fetched(): { queue: string; text: string } {
    const { name, queue } = this.definition
    const { shard } = this.ctx.ordered
    const text = JSON.stringify({ ...this.payload, class: name, args: this.ids.map(({ id }) => id), shard })
    return { queue, text }
  }

  /** Cancels one id. The signal of the handler is aborted once all ids of its batch are cancelled. */
  cancel(ticket: string): void {
    this.#cancelled ??= new Set()
    this.#cancelled.add(ticket)
    if (this.#cancelled.size === this.ids.length) this.ctx.abort('JOB_CANCELLED', 'all of the batch was cancelled')
  }

  /** Runs the handler and returns how each id ended, in their order. Never rejects. */
  async run(): Promise<readonly OrderedEnd[]> {
    this.began = performance.now()
    const ends = await this.#run()
    if (!this.isLost) this.#notifyEnded(ends)
    return ends
  }

  /** Tells plugins that the batch ended. A batch counts as one run, which failed if one of its ids did. */
  #notifyEnded(ends: readonly OrderedEnd[]): void {
    const ms = performance.now() - this.began
    const hasFailed = ends.some(({ kind }) => kind === 'failed' || kind === 'dead')
    if (!hasFailed && !ends.includes(DONE)) return
    const outcome: Outcome = hasFailed ? FAILED : { kind: 'done', result: undefined }
    for (const plugin of this.#engine.plugins.ended) plugin.ended(this.payload, outcome, ms, this.startedAt)
  }

  async #run(): Promise<readonly OrderedEnd[]> {
    const { jobLog } = this.#engine
    try {
      jobLog?.start(this)
      await this.#handle()
      jobLog?.done(this)
      return this.ctx.failures ? this.#ends(DONE, this.ctx.failures) : this.ids.map(() => DONE)
    } catch (thrown) {
      if (this.isLost) return []
      try {
        // In a batch of several ids a Discard counts as a failure, because it does not say which id it is about.
        jobLog?.threw(this, this.ids.length > 1 && verdictOf(thrown) === 'discard' ? undefined : thrown)
        return this.#failed(thrown)
      } catch {
        // Reading the members of an error threw. All ids fail, and the errors of single ids are not read again.
        const why =
          "the handler threw an error that can't be read, or passed one to ctx.fail: use an error whose getters do not throw"
        return this.#failed(new Error(why), NONE)
      }
    }
  }

  /** Runs the handler for a test. @throws what the handler throws, or the first error given to `ctx.fail` */
  async runInline(): Promise<void> {
    await this.#handle()
    for (const error of this.ctx.failures?.values() ?? []) throw error
  }

  #handle(): Promise<unknown> {
    const { chain, use: outer = [], within } = this.#engine
    const { definition, ctx } = this
    const { use } = definition.options
    const batch = new Map<string, unknown[]>()
    for (const { id, payloads } of this.ids) {
      try {
        const values = payloads.map(([text]) => parseJson(text))
        batch.set(id, values)
      } catch (thrown) {
        // Another program wrote a payload that is not JSON. Only this id fails.
        ctx.fail(id, thrown)
      }
    }
    if (batch.size === 0) return Promise.resolve()
    ctx.args = [batch]
    const innermost = async () => definition.handler(ctx, ctx.args[0] as typeof batch)
    const links = outer.length > 0 ? [...outer, ...use] : use
    const inside = links.length === 0 ? innermost : () => runLinks(links, ctx, innermost)
    const through = () => (chain.size === 0 ? inside() : chain.run(ctx, inside))
    // The payloads of a batch come from many pushes, so that it has no context.
    return within ? (within(this.payload, through) as Promise<unknown>) : through()
  }

  /** `failed` has the errors that were given to `ctx.fail`. */
  #failed(thrown: unknown, failed: ReadonlyMap<string, unknown> = this.ctx.failures ?? NONE): OrderedEnd[] {
    const { ctx } = this
    if (verdictOf(thrown) === 'batch-failure') {
      const { named, mistake } = this.#named(thrown)
      const failures = new Map([...failed, ...named])
      return mistake ? this.#allFailed(mistake, failures) : this.#ends(DONE, failures)
    }
    if (ctx.abortReason?.code === 'SHUTDOWN' || isCausedBy(thrown, 'SHUTDOWN')) return this.#ends(REQUEUE, failed)
    return this.#allFailed(thrown, failed)
  }

  /** Fails all ids. `named` has the errors of single ids. */
  #allFailed(thrown: unknown, named: ReadonlyMap<string, unknown>): OrderedEnd[] {
    const others = this.ids.filter(({ id }) => !named.has(id)).map(({ id }) => [id, thrown] as const)
    const isNamed = this.ids.length === 1 ? () => true : (id: string) => named.has(id)
    return this.#ends(DONE, new Map([...named, ...others]), isNamed)
  }

  /** Returns the errors that a BatchFailure names; `mistake` is set when it is not usable. */
  #named(thrown: unknown): { named: Map<string, unknown>; mistake?: HighkiqError } {
    const { failures } = thrown as { failures?: unknown }
    const named = new Map<string, unknown>()
    const wrong = (what: string) => {
      const text = `BatchFailure ${what}: give a Map of id → error, with ids of the batch; all ids of this one failed`
      return { named, mistake: new HighkiqError('INVALID_OPTION', text, undefined, { cause: thrown }) }
    }
    if (!(failures instanceof Map)) return wrong(`got ${shown(failures)}`)
    if (failures.size === 0) return wrong('got an empty Map')
    const otherIds: string[] = []
    for (const [key, error] of failures) {
      const id = String(key)
      if (this.ids.some((one) => one.id === id)) named.set(id, error)
      else otherIds.push(id)
    }
    return otherIds.length === 0
      ? { named }
      : wrong(`names what is no id of the batch (${idFields(otherIds).ids.join(', ')})`)
  }

  /**
   * Returns how each id ended. Ids without a failure end as `usual`. `isNamed` tells whether an error belongs to this
   * id alone, and not to the whole batch.
   */
  #ends(usual: OrderedEnd, failures: ReadonlyMap<string, unknown>, isNamed = (_id: string) => true): OrderedEnd[] {
    const failed: Failed[] = []
    const discarded: string[] = []
    const ends = this.ids.map((fetched) => {
      const { id } = fetched
      if (!failures.has(id)) return usual
      if (this.#cancelled?.has(fetched.ticket)) return CANCELLED
      const error = failures.get(id)
      const end = this.#endOf(fetched, error, isNamed(id))
      if (end === CANCELLED) discarded.push(id)
      if (end.kind === 'failed' || end.kind === 'dead') this.#collect(failed, fetched, error, end)
      return end
    })
    for (const one of failed) this.#report(one)
    if (discarded.length > 0) this.ctx.log.info(idFields(discarded), 'discarded by the handler')
    return ends
  }

  /** Collects ids that failed in the same way, so that they are logged in one line. */
  #collect(failed: Failed[], { id, retryCount }: FetchedBatch, error: unknown, end: OrderedEnd): void {
    const attempt = retryCount + 2
    const at = end.kind === 'failed' ? end.state.performIn : undefined
    const same = failed.find(
      (one) => one.error === error && one.attempt === attempt && (one.at === undefined) === (at === undefined),
    )
    if (!same) {
      failed.push({ ids: [id], error, attempt, at })
      return
    }
    same.ids.push(id)
    if (at !== undefined) same.at = Math.min(at, same.at ?? at)
  }

  #endOf({ id, performIn, retryCount, error: before }: FetchedBatch, error: unknown, isNamed: boolean): OrderedEnd {
    const now = this.#engine.now() / 1000
    const { maxRetries } = this.definition.options
    const verdict = verdictOf(error) ?? (this.#engine.isBusiness(error) ? 'business-failure' : undefined)
    switch (verdict) {
      case 'discard':
        // With several ids it is unknown which one the error is about.
        if (isNamed) return CANCELLED
        break
      case 'business-failure':
      case 'kill':
        if (isNamed) return { kind: 'dead', error: storedMessage(error) }
        break
      case 'release':
      case 'pause':
        return { kind: 'snoozed', state: { performIn: now + RELEASE_SECONDS, retryCount, error: before } }
      case 'snooze': {
        const { seconds } = error as Snooze
        if (Number.isFinite(seconds)) {
          return { kind: 'snoozed', state: { performIn: now + seconds, retryCount, error: before } }
        }
      }
    }
    const count = retryCount + 1
    if (count >= maxRetries) return { kind: 'dead', error: storedMessage(error) }
    const next = now + this.#delay(count, error, id, performIn)
    return { kind: 'failed', state: { performIn: next, retryCount: count, error: storedMessage(error) } }
  }

  #delay(count: number, error: unknown, id: string, performIn: number): number {
    const { retryIn } = this.definition.options
    const { random } = this.#engine
    const usual = () => retryDelay(count, random)
    try {
      const answer = typeof retryIn === 'function' ? retryIn(count, error, id) : retryIn
      if (answer === undefined || answer === null || answer === 'default') return usual()
      if (typeof answer === 'number' && Number.isFinite(answer)) return answer
      const delay = delayOf(answer)
      if (delay) return delay.seconds + (delay.jitter ? jitter(count, random) : 0)
      throw new HighkiqError(
        'INVALID_OPTION',
        `${this.definition.name}: retryIn must return ${DELAY_WORDS}, or 'default' (got ${shown(answer)}); the id gets the default delay`,
      )
    } catch (thrown) {
      this.#engine.report(thrown, { during: 'retryIn', class: this.definition.name, id, performIn })
      return usual()
    }
  }

  #report({ error, ids, attempt, at }: Failed): void {
    const { name, queue } = this.definition
    const { shard } = this.ctx.ordered
    const next = at === undefined ? 'morgue' : `retry at ${timeOf(at)}`
    const about = { class: name, jid: this.payload.jid, queue, shard, ...idFields(ids), attempt, next }
    this.#engine.report(error, { context: 'Job raised exception', ...about })
  }
}

/** Ids that failed with one error. `at`: when the first of them is due again, in seconds; undefined when they died. */
interface Failed {
  ids: string[]
  error: unknown
  attempt: number
  at: number | undefined
}

const NONE: ReadonlyMap<string, unknown> = new Map()

/** Formats a time for the log. `retryIn` may have returned a number that is too large for a Date. */
function timeOf(seconds: number): string {
  const at = new Date(seconds * 1000)
  return Number.isNaN(at.getTime()) ? `${seconds} s since 1970` : at.toISOString()
}

/** Returns the death of an id. Only its first payload goes to the morgue. */
export function deathOf({ id, payloads }: FetchedBatch, error: string): OrderedDeath {
  const [first] = payloads
  return { id, payloads: first ? [scoredValue(first)] : [], error }
}
