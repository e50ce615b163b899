import { HighkiqError, invalidOption } from '../job/errors.ts'
import { type OrderedDefinition, type OrderedHandler, type OrderedOptions, orderedDefinition } from './definition.ts'

/** The ordered queues of an app, in the order in which they were defined. */
export class OrderedRegistry {
  /** Whether a definition replaces the one of the same name (`Highkiq.once`). */
  canReplace = false
  readonly #byName = new Map<string, OrderedDefinition>()

  /** @throws INVALID_OPTION, DUPLICATE_JOB */
  define(name: string, options: OrderedOptions, handler: OrderedHandler): OrderedDefinition {
    const definition = orderedDefinition(name, options, handler)
    const before = this.get(name)
    if (before && !this.canReplace) {
      throw new HighkiqError('DUPLICATE_JOB', `an ordered queue named ${name} is defined already`)
    }
    if (before && before.queue !== definition.queue) {
      throw invalidOption(
        `${name}: its queue can't change from ${before.queue} to ${definition.queue}: restart the process`,
      )
    }
    const other = this.all.find(({ queue }) => queue === definition.queue)
    if (other && other !== before) {
      const message = `${name}: the ordered queue ${other.queue} belongs to ${other.name} already`
      throw new HighkiqError('DUPLICATE_JOB', message)
    }
    // Changed in place, because running workers hold this object.
    if (before) return Object.assign(before, definition)
    this.#byName.set(name, definition)
    return definition
  }

  /** Whether `define` would replace the definition of this name. */
  replaces(name: string): boolean {
    return this.canReplace && this.#byName.has(name)
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
