/** The test modes: a push runs its jobs at once, or collects them, instead of storing them. */

import type { AppPort } from '../app/port.ts'
import { DirectTarget, type OrderedPushed, type PreparedOrderedPush, type PreparedPush } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { verdictOf } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import { KEEPS_RESULT } from '../job/result.ts'
import {
  type BatchPush,
  type BatchReader,
  type BatchRefusal,
  NOTHING_REFUSED,
  type RefusedPush,
} from '../store/contract.ts'
import { MemoryBatches } from './memory-batches.ts'
import { MemoryLocks } from './memory-locks.ts'

type Outcome = Parameters<AppPort['effects']>[1]

/** A test mode. It ends with `using`, or with `dispose()`. */
export class Mode implements Disposable {
  #end: () => void = () => {}

  /** Sets a function that runs once, when the mode ends. */
  onEnd(end: () => void): void {
    this.#end = end
  }

  dispose(): void {
    const end = this.#end
    this.#end = () => {}
    end()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/** A test mode that keeps or runs jobs instead of storing them. */
export abstract class TestTarget extends DirectTarget implements Disposable {
  /** Middleware around the jobs that are run. The app's own server middleware does not run. */
  readonly server = new Chain<JobContext, unknown>()
  /** @internal */
  protected readonly app: AppPort
  readonly #mode = new Mode()
  /** @internal */
  protected readonly locks: MemoryLocks
  readonly #batches: MemoryBatches
  /** The ends of jobs, by jid. */
  readonly #ends = new Map<string, { text: string } | { none: string }>()

  constructor(app: AppPort) {
    super()
    this.app = app
    this.locks = new MemoryLocks(app.now)
    this.#batches = new MemoryBatches(app.now, (key) => this.locks.holderOf(key))
  }

  /** @internal */
  override get batches(): BatchReader {
    return this.#batches
  }

  /** @internal */
  override endOf(jid: string): { text: string } | { none: string } | undefined {
    return this.#ends.get(jid)
  }

  /** Records that a job has not ended. */
  protected begin({ jid }: Payload): void {
    this.#ends.set(jid, { none: 'it has not ended: with fake(hq), run it by drain() or performOne() first' })
  }

  /** Keeps a job, or runs it. */
  protected abstract accept(payload: Payload): Promise<void>

  /** @internal */
  async putBatch(push: BatchPush): Promise<BatchRefusal | readonly RefusedPush[]> {
    const answer = this.#batches.store(push)
    if ('reason' in answer) return answer
    for (const destination of answer.items) await this.accept(arrived(this.app, { destination }))
    await this.#drainPushed()
    return answer.refused
  }

  /** Returns the refusal of a unique job while another job has its lock. @internal */
  protected refusalOf({ destination }: PreparedPush): RefusedPush | undefined {
    for (const { key } of destination.unique?.claims ?? []) {
      const holder = this.locks.holderOf(key)
      if (holder !== undefined) return { item: destination, holder, due: null }
    }
    return undefined
  }

  /** Runs a job and changes its batch and its locks. @throws what the handler throws */
  protected async run(payload: Payload): Promise<unknown> {
    this.begin(payload)
    this.locks.apply(this.app.effects(payload, { kind: 'started' }))
    try {
      const result = await this.app.run(payload, this.server)
      this.#end(payload, { kind: 'done', result })
      return result
    } catch (error) {
      this.#end(payload, this.#outcomeOf(payload, error))
      throw error
    } finally {
      await this.#drainPushed()
    }
  }

  #end(payload: Payload, outcome: Outcome): void {
    const effects = this.app.effects(payload, outcome)
    this.#batches.apply(effects)
    this.locks.apply(effects)
    const text = this.app.endText(payload, outcome)
    this.#ends.set(payload.jid, text === undefined ? { none: `it has ended: ${KEEPS_RESULT}` } : { text })
  }

  /** Returns how a job that threw ends. It does not run again in a test, so it has used up its retries. */
  #outcomeOf(payload: Payload, error: unknown): Outcome {
    const verdict = verdictOf(error)
    if (verdict === 'discard') return { kind: 'discarded', error }
    if (verdict === 'business-failure' || this.app.engine().isBusiness(error))
      return { kind: 'business-failure', error }
    const { retry, dead } = { ...this.app.registry.get(payload.class)?.options, ...payload }
    const isKept = verdict === 'kill' || retry !== false
    return isKept && dead !== false ? { kind: 'dead', error } : { kind: 'dead', error, isDeleted: true }
  }

  async #drainPushed(): Promise<void> {
    for (const text of this.#batches.drainPushed()) {
      await this.accept(this.app.client.writer.opened(readPayload(text) as Payload))
    }
  }

  /** @internal */
  async putAll(jobs: PreparedPush[]): Promise<readonly RefusedPush[]> {
    let refused = NOTHING_REFUSED
    for (const job of jobs) refused = [...refused, ...(await this.put(job))]
    return refused
  }

  onEnd(end: () => void): void {
    this.#mode.onEnd(end)
  }

  dispose(): void {
    this.#mode.dispose()
  }

  [Symbol.dispose](): void {
    this.#mode.dispose()
  }
}

/** Runs jobs at once, where they are pushed. A push throws what the handler throws. */
export class Inline extends TestTarget {
  /** Refuses a unique job that a running job pushes with its own lock, or while a lock lasts for a time. @internal */
  async put(job: PreparedPush): Promise<readonly RefusedPush[]> {
    const refusal = this.refusalOf(job)
    if (refusal) return [refusal]
    await this.accept(arrived(this.app, job))
    return NOTHING_REFUSED
  }

  protected async accept(payload: Payload): Promise<void> {
    this.locks.acquire(payload)
    await this.run(payload)
  }

  /** A job that has a lock runs or has ended, and keeps its arguments. @internal */
  async replaceHolder(): Promise<boolean> {
    return true
  }

  /** @internal */
  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    await push.run(itemsOf(push), this.server)
  }
}

/** Returns a job as a worker would read it, its arguments in plain text; a scheduled one has its time in `at`. */
export function arrived(app: AppPort, { destination }: Pick<PreparedPush, 'destination'>): Payload {
  const payload = app.client.writer.opened(readPayload(destination.text) as Payload)
  if (destination.to !== 'queue') payload.at = destination.score
  return payload
}

/** Returns items as a worker would read them. */
export function itemsOf({ batches }: PreparedOrderedPush): OrderedPushed[] {
  return batches.flatMap(({ items }) =>
    items.map(({ payload, wake: _, ...rest }) => ({ ...rest, payload: parseJson(payload) })),
  )
}
