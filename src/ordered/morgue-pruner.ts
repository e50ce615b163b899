import type { Store } from '../store/contract.ts'
import { Periodic } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import type { OrderedDefinition } from './definition.ts'

const PRUNE_MS = 60_000

/** Maintains a queue for all its workers, in the owner of its first shard: completes resharding and prunes the morgue. */
export class MorguePruner extends Periodic {
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #ownsFirstShard: () => boolean
  #prunedAt = Number.NEGATIVE_INFINITY
  #isResharding = false

  constructor(engine: Engine, definition: OrderedDefinition, ownsFirstShard: () => boolean) {
    super(engine.report, { during: `maintaining the ordered queue ${definition.queue}`, everyMs: PRUNE_MS })
    this.#engine = engine
    this.#definition = definition
    this.#ownsFirstShard = ownsFirstShard
  }

  /** Completes a resharding that has not ended, and prunes the morgue once a minute. Call it after each rebalancing. */
  rebalanced(isResharding: boolean): void {
    this.#isResharding = isResharding
    if (isResharding || this.#isDue) this.runWithin(0)
  }

  protected override async run(): Promise<void> {
    if (!this.#ownsFirstShard()) return
    const { store, now } = this.#engine
    const { queue, options } = this.#definition
    if (this.#isResharding) await moveAllShards(store, queue, () => this.isStopping)
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
