import { checkQueueName } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'

/** `name`, `name,weight` or `[name, weight]`. */
export type QueueOption = string | readonly [name: string, weight: number]

/** `strict`: as listed. `random`: each equally likely to be first. `weighted`: as likely as its share of the weights. */
export type QueueMode = 'strict' | 'random' | 'weighted'

/** Chooses, for one fetch, in which order queues are asked; those that it leaves out are not. */
export type FetchOrder = (queues: readonly string[]) => readonly string[]

/**
 * The order in which queues are asked for jobs. No weight anywhere: as listed, strictly. One weight anywhere (`critical,3`;
 * others count 1): drawn anew each time, so that a queue comes first as often as its share of the weights.
 */
export class QueueOrder {
  readonly names: readonly string[]
  readonly mode: QueueMode
  /** As given; 0 where none was. */
  readonly weights: Readonly<Record<string, number>>
  readonly #lots: readonly string[] | undefined
  readonly #random: () => number
  readonly #choose: FetchOrder | undefined

  /** @throws INVALID_OPTION */
  constructor(queues: readonly QueueOption[], random: () => number, choose?: FetchOrder) {
    const parsed = queues.map(parseQueue)
    if (parsed.length === 0) {
      throw new HighkiqError('INVALID_OPTION', 'queues: name at least one queue, for instance ["default"]')
    }
    if (choose !== undefined && typeof choose !== 'function') {
      throw new HighkiqError('INVALID_OPTION', 'fetchOrder is a function from the names of queues to an order of them')
    }
    const weights = new Map<string, number>()
    for (const { name, weight } of parsed) weights.set(name, (weights.get(name) ?? 0) + weight)
    this.names = [...weights.keys()]
    this.weights = Object.fromEntries(weights)
    this.#random = random
    this.#choose = choose
    if (parsed.every(({ weight }) => weight === 0)) {
      this.mode = 'strict'
    } else {
      this.mode = parsed.every(({ weight }) => weight === 1) ? 'random' : 'weighted'
      this.#lots = parsed.flatMap(({ name, weight }) => Array<string>(Math.max(weight, 1)).fill(name))
    }
  }

  /** @throws what a `fetchOrder` of one's own throws */
  next(): readonly string[] {
    if (this.#choose) return [...new Set(this.#choose(this.names))].filter((name) => this.names.includes(name))
    if (!this.#lots) return this.names
    const lots = [...this.#lots]
    for (let i = lots.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random() * (i + 1))
      const lot = lots[i] as string
      lots[i] = lots[j] as string
      lots[j] = lot
    }
    return [...new Set(lots)]
  }
}

/** @throws INVALID_OPTION */
export function parseQueue(queue: QueueOption): { name: string; weight: number } {
  const [name = '', weight = 0] = typeof queue === 'string' ? queue.split(',') : queue
  checkQueueName(name)
  if (!/^\d+$/.test(String(weight))) {
    throw new HighkiqError('INVALID_OPTION', `queue ${JSON.stringify(queue)}: the weight must be a whole number`)
  }
  return { name, weight: Number(weight) }
}
