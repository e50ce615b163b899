/** What the owner of a queue's first shard does for all: it goes on with a change of shards, and keeps the morgue small. */

import type { ShardAssignments, Store } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { OrderedDefinition } from './definition.ts'

const TRIM_MS = 60_000

export class Keeper {
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  #working: Promise<void> | undefined
  #trimmedAt = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(engine: Engine, definition: OrderedDefinition) {
    this.#engine = engine
    this.#definition = definition
  }

  /** One at a time. */
  keep(board: ShardAssignments): void {
    this.#working ??= this.#keep(board)
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

  async #keep({ from }: ShardAssignments): Promise<void> {
    const { store, now } = this.#engine
    const { queue, options } = this.#definition
    if (from !== null) await moveAll(store, queue, () => this.#stopped)
    if (performance.now() - this.#trimmedAt < TRIM_MS) return
    this.#trimmedAt = performance.now()
    const since = now() / 1000 - Number(options.morgueKeep)
    while (!this.#stopped && (await store.ordered.pruneMorgue(queue, options.morgueMax, since)) > 0);
  }
}

/** Moves what waits to where it belongs now, a page at a time. */
export async function moveAll(store: Store, queue: string, isStopped: () => boolean = () => false): Promise<void> {
  while (!isStopped() && (await store.ordered.moveShards(queue)) > 0);
}
