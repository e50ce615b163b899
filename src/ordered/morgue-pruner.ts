/**
 * Maintains a queue for all its workers, in the owner of its first shard: continues resharding and prunes the morgue.
 */

import type { ShardAssignments, Store } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { OrderedDefinition } from './definition.ts'

const PRUNE_MS = 60_000

export class MorguePruner {
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  #working: Promise<void> | undefined
  #prunedAt = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(engine: Engine, definition: OrderedDefinition) {
    this.#engine = engine
    this.#definition = definition
  }

  /** Starts a run unless one is in progress. */
  run(assignments: ShardAssignments): void {
    this.#working ??= this.#run(assignments)
      .catch((thrown) =>
        this.#engine.report(thrown, { during: `looking after the ordered queue ${this.#definition.queue}` }),
      )
      .finally(() => {
        this.#working = undefined
      })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#working
  }

  async #run({ from }: ShardAssignments): Promise<void> {
    const { store, now } = this.#engine
    const { queue, options } = this.#definition
    if (from !== null) await moveAllShards(store, queue, () => this.#stopped)
    if (performance.now() - this.#prunedAt < PRUNE_MS) return
    this.#prunedAt = performance.now()
    const since = now() / 1000 - Number(options.morgueKeep)
    while (!this.#stopped && (await store.ordered.pruneMorgue(queue, options.morgueMax, since)) > 0);
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
