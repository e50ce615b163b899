import type { AppPort } from '../app/port.ts'
import type { OrderedPushed } from '../client/push-target.ts'
import type { OrderedDefinition, OrderedItem } from './definition.ts'
import { OrderedQueue } from './queue.ts'

/** An ordered queue that this app defines: `hq.ordered(name, options, handler)`. */
export class OrderedJob<P = unknown> extends OrderedQueue {
  /** @internal */
  readonly definition: OrderedDefinition
  readonly #app: AppPort

  constructor(app: AppPort, definition: OrderedDefinition) {
    super(app, definition.queue, definition)
    this.definition = definition
    this.#app = app
  }

  get name(): string {
    return this.definition.name
  }

  override performAsync(items: OrderedItem<P> | Iterable<OrderedItem<P>>): Promise<number> {
    return super.performAsync(items as OrderedItem | Iterable<OrderedItem>)
  }

  // In tests (highkiq/testing) -----------------------------------------------------------------------------------

  /** What was pushed and has not run, in order. */
  get pushed(): readonly OrderedPushed[] {
    return this.#app.client.collected.ordered(this.name)
  }

  /** Runs what was pushed, ids together as a worker would. @returns how many items; @throws what the handler throws */
  async drain(): Promise<number> {
    return this.#app.client.collected.drain(this.name)
  }

  clear(): void {
    this.#app.client.collected.clear(this.name)
  }
}
