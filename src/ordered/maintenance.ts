import type { Store } from '../store/contract.ts'
import { Periodic } from '../worker/background-service.ts'
import type { Membership } from './membership.ts'
import type { QueueParts } from './parts.ts'
import type { SettleAndFetch } from './settle-and-fetch.ts'

const PRUNE_MS = 60_000
/** Milliseconds between two searches for ids that a lost answer assigned to this process. */
const RECONCILE_MS = 30_000

/**
 * Asks the store again when a notification or an answer may have been lost, or when it has refused settlements. In the
 * owner of the first shard it also completes resharding and prunes the morgue, for all workers of the queue.
 */
export class Maintenance extends Periodic {
  readonly #parts: QueueParts
  readonly #calls: SettleAndFetch
  readonly #membership: Membership
  #reconciledAt = performance.now()
  #prunedAt = Number.NEGATIVE_INFINITY
  #isResharding = false

  constructor(parts: QueueParts, calls: SettleAndFetch, membership: Membership) {
    // With the waits and the rebalancing this makes about one call a second.
    const { engine, definition, pollMs } = parts
    super(engine.report, { during: `maintaining the ordered queue ${definition.queue}`, everyMs: pollMs * 1.5 })
    this.#parts = parts
    this.#calls = calls
    this.#membership = membership
  }

  /** Completes a resharding that has not ended, and prunes the morgue once a minute. Call it after each rebalancing. */
  runIfDue(isResharding: boolean): void {
    this.#isResharding = isResharding
    if (isResharding || this.#isDue) this.runWithin(0)
  }

  protected override async run(): Promise<void> {
    // Also while calls are under way: a call asks only for shards that are known to have ids, and notifications are
    // read only between calls.
    if (this.#membership.hasJoined) this.#calls.poll(false)
    this.#calls.resendRefused()
    if (performance.now() - this.#reconciledAt >= RECONCILE_MS) {
      this.#reconciledAt = performance.now()
      this.#calls.reconcile()
    }
    if (!this.#membership.ownsFirstShard) return
    const { engine, definition } = this.#parts
    const { store, now } = engine
    const { queue, options } = definition
    // A long resharding continues in the next run, so that lost notifications are found meanwhile.
    const until = performance.now() + this.#parts.pollMs
    if (this.#isResharding) await moveAllShards(store, queue, () => this.isStopping || performance.now() > until)
    if (performance.now() > until) this.runWithin(0)
    if (!this.#isDue) return
    this.#prunedAt = performance.now()
    const since = now() / 1000 - Number(options.morgueKeep)
    while (!this.isStopping && (await store.ordered.pruneMorgue(queue, options.morgueMax, since)) > 0);
  }

  get #isDue(): boolean {
    return performance.now() - this.#prunedAt >= PRUNE_MS
  }
}

/** Moves all waiting ids to their current shard, one page at a time. */
export async function moveAllShards(
  store: Store,
  queue: string,
  isStopped: () => boolean = () => false,
): Promise<void> {
  while (!isStopped() && (await store.ordered.moveShards(queue)) > 0);
}
