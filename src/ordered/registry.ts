import { HighkiqError } from '../job/errors.ts'
import { type OrderedDefinition, type OrderedHandler, type OrderedOptions, orderedDefinition } from './definition.ts'

/** The ordered queues of an app, in the order in which they were defined. */
export class OrderedRegistry {
  readonly #byName = new Map<string, OrderedDefinition>()

  /** @throws INVALID_OPTION, DUPLICATE_JOB */
  define(name: string, options: OrderedOptions, handler: OrderedHandler): OrderedDefinition {
    const definition = orderedDefinition(name, options, handler)
    if (this.#byName.has(name)) {
      throw new HighkiqError('DUPLICATE_JOB', `an ordered queue named ${name} is defined already`)
    }
    const other = this.all.find(({ queue }) => queue === definition.queue)
    if (other) {
      const message = `${name}: the ordered queue ${other.queue} is that of ${other.name} already`
      throw new HighkiqError('DUPLICATE_JOB', message)
    }
    this.#byName.set(name, definition)
    return definition
  }

  get(name: string): OrderedDefinition | undefined {
    return this.#byName.get(name)
  }

  /** Finds a definition by its own name or by the name of its queue. */
  find(name: string): OrderedDefinition | undefined {
    return this.get(name) ?? this.all.find(({ queue }) => queue === name)
  }

  get all(): OrderedDefinition[] {
    return [...this.#byName.values()]
  }
}
