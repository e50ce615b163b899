import { checkServedQueueName } from '../job/definition.ts'
import { invalidOption } from '../job/errors.ts'
import { baseQueue, isPriorityName } from '../job/priority.ts'

/** `name`, `name,weight` or `[name, weight]`. The name `*` stands for all queues that the app's jobs name. */
export type QueueOption = string | readonly [name: string, weight: number]

/** `strict`: as listed. `random`: each equally likely to be first. `weighted`: as likely as its share of the weights. */
export type QueueMode = 'strict' | 'random' | 'weighted'

/** Returns the order of the queues for one fetch. The worker does not fetch from queues that it omits. */
export type FetchOrder = (queues: readonly string[]) => readonly string[]

/**
 * The order in which a worker fetches from its queues. Without weights it is strictly the order of the list. With a weight
 * (`critical,3`; others count 1) it is drawn for each fetch, so that a queue comes first as often as its share of the weights.
 */
export class QueueOrder {
  readonly names: readonly string[]
  readonly mode: QueueMode
  /** The weight of each queue; 0 without one. */
  readonly weights: Readonly<Record<string, number>>
  readonly #lots: readonly string[] | undefined
  readonly #random: () => number
  readonly #choose: FetchOrder | undefined

  /** @throws INVALID_OPTION */
  constructor(queues: readonly QueueOption[], random: () => number, choose?: FetchOrder) {
    const parsed = queues.map(parseQueue)
    if (parsed.length === 0) {
      throw invalidOption('queues must name at least one queue, for instance ["default"]')
    }
    if (choose !== undefined && typeof choose !== 'function') {
      throw invalidOption('fetchOrder must be a function that gets the names of the queues and returns their order')
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

  /** Whether the app chooses the queues of each fetch. */
  get isChosen(): boolean {
    return this.#choose !== undefined
  }

  /** Whether the worker must choose the queue of each job when a slot is free, so that it may not fetch ahead. */
  get forbidsPrefetch(): boolean {
    return this.isChosen || (this.names.length > 1 && this.mode === 'strict')
  }

  /** @throws what `fetchOrder` throws */
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

/** The name that stands for all queues that the app's jobs name. */
export const ALL_QUEUES = '*'

/**
 * Replaces `'*'` by those `defined` queues that are named neither in `queues` nor in `elsewhere`. They get its weight. A
 * `'*'` that stands alone makes each of them equally likely to be asked first. @throws INVALID_OPTION
 */
export function expandQueues(
  queues: readonly QueueOption[],
  defined: readonly string[],
  elsewhere: readonly string[],
): QueueOption[] {
  const names = queues.map((queue) => parseQueue(queue).name)
  if (!names.includes(ALL_QUEUES)) return [...queues]
  const others = defined.filter((name) => !names.includes(name) && !elsewhere.includes(name))
  return queues.flatMap((queue): QueueOption[] => {
    const { name, weight } = parseQueue(queue)
    if (name !== ALL_QUEUES) return [queue]
    const isRandom = queues.length === 1 && others.length > 1
    const each = weight || Number(isRandom)
    return others.map((other) => (each > 0 ? [other, each] : other))
  })
}

/** @throws INVALID_OPTION */
export function parseQueue(queue: QueueOption): { name: string; weight: number } {
  const [name = '', weight = 0] = typeof queue === 'string' ? queue.split(',') : queue
  checkServedQueueName(name)
  if (isPriorityName(name)) {
    throw invalidOption(
      `queue ${name} is a priority of queue ${baseQueue(name)}: name ${baseQueue(name)}, which serves all its priorities`,
    )
  }
  if (!/^\d+$/.test(String(weight))) {
    throw invalidOption(`queue ${JSON.stringify(queue)}: the weight must be a whole number`)
  }
  return { name, weight: Number(weight) }
}
