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

  /** The ids, with scores, retries and errors; read when it is first asked for. */
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
   * Grows with each change of the shard's owner: a store of your own that keeps the highest it has seen, and refuses
   * lower ones, can't be written to by a process that lost its shard and does not know it yet.
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

  /** This id failed, with this error; the others of the batch are done when the handler returns. @throws INVALID_OPTION */
  fail(id: string | number, error: unknown): void {
    const name = String(id)
    if (!this.#ids.some((one) => one.id === name)) {
      throw invalidOption(`ctx.fail: ${JSON.stringify(name)} is no id of this batch`)
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

/** Ids in a line of the log. */
const MOST_IDS = 10

/** Ids as a line of the log has them: the first ones, and how many more there are. */
export function idFields(ids: readonly string[]): { ids: readonly string[]; more?: number } {
  return ids.length > MOST_IDS ? { ids: ids.slice(0, MOST_IDS), more: ids.length - MOST_IDS } : { ids }
}

interface BatchParts {
  name: string
  shard: number
  token: number
  ids: readonly FetchedBatch[]
}
