import type { FakeQueues, OrderedPushed } from '../client/push-target.ts'
import type { OrderedDefinition, OrderedItem } from './definition.ts'
import type { PushHost } from './push.ts'
import { OrderedQueue } from './queue.ts'

export interface OrderedJobHost extends PushHost {
  /** What a test has collected. @throws INVALID_OPTION when none does */
  collected(): FakeQueues
}

/** An ordered queue that this app defines: `hq.ordered(name, options, handler)`. */
export class OrderedJob<P = unknown> extends OrderedQueue {
  readonly definition: OrderedDefinition
  readonly #host: OrderedJobHost

  constructor(host: OrderedJobHost, definition: OrderedDefinition) {
    super(host, definition.queue, definition)
    this.definition = definition
    this.#host = host
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
    return this.#host.collected().ordered(this.name)
  }

  /** Runs what was pushed, ids together as a worker would. @returns how many items; @throws what the handler throws */
  async drain(): Promise<number> {
    return this.#host.collected().drain(this.name)
  }

  clear(): void {
    this.#host.collected().clear(this.name)
  }
}
