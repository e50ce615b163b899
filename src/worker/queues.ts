import { checkQueueName } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'

/**
 * The order in which queues are asked for jobs. No weight anywhere: as listed, strictly. One weight anywhere (`critical,3`;
 * others count 1): drawn anew each time, so that a queue comes first as often as its share of the weights.
 */
export class QueueOrder {
  readonly names: readonly string[]
  readonly #lots: readonly string[] | undefined
  readonly #random: () => number

  /** @throws INVALID_OPTION */
  constructor(queues: readonly string[], random: () => number) {
    const parsed = queues.map(parse)
    if (parsed.length === 0) {
      throw new HighkiqError('INVALID_OPTION', 'queues: name at least one queue, for instance ["default"]')
    }
    this.names = [...new Set(parsed.map(({ name }) => name))]
    this.#random = random
    if (parsed.some(({ weight = 0 }) => weight > 0)) {
      this.#lots = parsed.flatMap(({ name, weight }) => Array<string>(Math.max(weight ?? 1, 1)).fill(name))
    }
  }

  next(): readonly string[] {
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

function parse(queue: string): { name: string; weight: number | undefined } {
  const [name = '', weight] = queue.split(',')
  checkQueueName(name)
  if (weight === undefined) return { name, weight: undefined }
  if (!/^\d+$/.test(weight)) {
    throw new HighkiqError('INVALID_OPTION', `queue ${JSON.stringify(queue)}: the weight must be a whole number`)
  }
  return { name, weight: Number(weight) }
}
