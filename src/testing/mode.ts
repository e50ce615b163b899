/** The test modes: a push runs its jobs at once, or collects them, instead of storing them. */

import type { AppPort } from '../app/port.ts'
import { DirectTarget, type OrderedPushed, type PreparedOrderedPush, type PreparedPush } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { verdictOf } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import { KEEPS_RESULT } from '../job/result.ts'
import { readUnique } from '../job/unique.ts'
import {
  type BatchPush,
  type BatchReader,
  type BatchRefusal,
  NOTHING_REFUSED,
  type RefusedPush,
} from '../store/contract.ts'
import { MemoryBatches } from './memory-batches.ts'

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
  readonly #batches: MemoryBatches
  /** By jid: the ends of jobs. */
  readonly #ends = new Map<string, { text: string } | { none: string }>()

  constructor(app: AppPort) {
    super()
    this.app = app
    this.#batches = new MemoryBatches(app.now, (key) => this.holderOf(key))
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

  /** Returns the jid of the kept or running job that has a lock. */
  protected abstract holderOf(key: string): string | undefined

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

  /** Runs a job and changes its batch. @throws what the handler throws */
  protected async run(payload: Payload): Promise<unknown> {
    this.begin(payload)
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
    if (payload.bid !== undefined) this.#batches.apply(this.app.effects(payload, outcome))
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
  /** The jobs that run and keep a lock until they have succeeded, by lock. */
  readonly #holders = new Map<string, string>()

  /** Refuses a unique job that a running job pushes with its own lock. @internal */
  async put(job: PreparedPush): Promise<readonly RefusedPush[]> {
    const payload = arrived(this.app, job)
    const holder = locksOf(payload)
      .map((key) => this.holderOf(key))
      .find((jid) => jid !== undefined)
    if (holder !== undefined) return [{ item: job.destination, holder, due: null }]
    await this.accept(payload)
    return NOTHING_REFUSED
  }

  protected holderOf(key: string): string | undefined {
    return this.#holders.get(key)
  }

  protected async accept(payload: Payload): Promise<void> {
    const keys = locksOf(payload)
    for (const key of keys) this.#holders.set(key, payload.jid)
    try {
      await this.run(payload)
    } finally {
      for (const key of keys) this.#holders.delete(key)
    }
  }

  /** A job that has a lock runs, and keeps its arguments. @internal */
  async replaceHolder(): Promise<boolean> {
    return true
  }

  /** @internal */
  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    await push.run(itemsOf(push), this.server)
  }
}

/** Returns the locks that a running job has. */
export function locksOf(payload: Payload): string[] {
  return readUnique(payload).flatMap(({ until, key }) => (until === 'success' || until === 'time' ? key : []))
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
