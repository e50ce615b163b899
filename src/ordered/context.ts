import { type ContextParts, JobContext } from '../job/context.ts'
import { invalidOption } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import type { FetchedBatch, OrderedState } from '../store/contract.ts'
import { type ScoredValue, scoredValue } from './entry.ts'

/** An id of a batch with its payloads and its state. */
export interface OrderedEntry extends OrderedState {
  id: string
  /** The payloads in the order of their scores. */
  payloads: ScoredValue[]
}

/** The queue, the shard and the ids of a batch. */
export class OrderedBatchInfo {
  /** The name of the ordered queue. */
  readonly name: string
  readonly shard: number
  readonly #ids: readonly FetchedBatch[]
  #batch: OrderedEntry[] | undefined

  constructor({ name, shard, ids }: BatchParts) {
    this.name = name
    this.shard = shard
    this.#ids = ids
  }

  /** The ids of the batch with their payloads, scores, retries and errors. */
  get batch(): readonly OrderedEntry[] {
    this.#batch ??= this.#ids.map(({ id, payloads, performIn, retryCount, error }) => ({
      id,
      performIn,
      retryCount,
      error,
      payloads: payloads.map(scoredValue),
    }))
    return this.#batch
  }
}

/** The context of one batch, for the handler of an ordered queue. Each batch has a `jid` of its own. */
export class OrderedContext extends JobContext {
  /**
   * A number that grows each time the shard gets another owner. Store it with your data and refuse writes with a lower
   * one: they come from a process that lost the shard and has not noticed it yet.
   */
  readonly fence: number
  readonly ordered: OrderedBatchInfo
  readonly #ids: readonly FetchedBatch[]
  #failures: Map<string, unknown> | undefined

  constructor(payload: Payload, parts: BatchParts, contextParts: ContextParts) {
    super(payload, payload.queue, contextParts)
    this.fence = parts.token
    this.ordered = new OrderedBatchInfo(parts)
    this.#ids = parts.ids
  }

  /** Fails one id with this error. The other ids are done when the handler returns. @throws INVALID_OPTION */
  fail(id: string | number, error: unknown): void {
    const name = String(id)
    if (!this.#ids.some((one) => one.id === name)) {
      throw invalidOption(`ctx.fail: ${JSON.stringify(name)} is not an id of this batch`)
    }
    this.#failures ??= new Map()
    this.#failures.set(name, error)
  }

  protected override get logFields(): Record<string, unknown> {
    return { ...super.logFields, shard: this.ordered.shard, ...idFields(this.#ids.map(({ id }) => id)) }
  }

  /** The errors given to `fail`, by id. */
  get failures(): ReadonlyMap<string, unknown> | undefined {
    return this.#failures
  }
}

/** The most ids that one log line names. */
const MOST_IDS = 10

/** Returns the log fields of these ids: the first ones, and the number of the others. */
export function idFields(ids: readonly string[]): { ids: readonly string[]; more?: number } {
  return ids.length > MOST_IDS ? { ids: ids.slice(0, MOST_IDS), more: ids.length - MOST_IDS } : { ids }
}

interface BatchParts {
  name: string
  shard: number
  token: number
  ids: readonly FetchedBatch[]
}
