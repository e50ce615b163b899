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

  /** The items that were pushed and have not run, in the order of the pushes. */
  get pushed(): readonly OrderedPushed[] {
    return this.#app.client.collected.ordered(this.name)
  }

  /** Runs the pushed items in batches, as a worker does. @returns the number of items. @throws errors of the handler */
  async drain(): Promise<number> {
    return this.#app.client.collected.drain(this.name)
  }

  /** Deletes the pushed items without running them. */
  clear(): void {
    this.#app.client.collected.clear(this.name)
  }
}
