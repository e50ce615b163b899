// Counts which jobs ran. Every job has a number from 0 on; a bitmap has one bit for each.
const SHOWN = 10

export class Effects {
  #bits
  #total
  #doubled = []
  #foreign = []

  constructor(total) {
    this.#total = total
    this.#bits = new Uint8Array(Math.ceil(total / 8))
  }

  ran(number) {
    if (!(Number.isInteger(number) && number >= 0 && number < this.#total)) {
      this.#foreign.push(number)
      return
    }
    const bit = 1 << (number & 7)
    if (this.#bits[number >> 3] & bit) this.#doubled.push(number)
    this.#bits[number >> 3] |= bit
  }

  /** What a process reports; `checkEffects` reads it. */
  toJSON() {
    return { bits: Buffer.from(this.#bits).toString('base64'), doubled: this.#doubled, foreign: this.#foreign }
  }
}

/**
 * Checks that each of the numbers below `total` ran exactly once in one of the processes that report.
 * @param queued how many jobs the peer still has; so many may be missing, and no more
 */
export function checkEffects(reports, total, queued = 0) {
  const seen = new Uint8Array(total)
  const doubled = reports.flatMap((report) => report.doubled)
  const foreign = reports.flatMap((report) => report.foreign)
  for (const { bits } of reports) {
    const bytes = Buffer.from(bits, 'base64')
    for (let number = 0; number < total; number++) {
      if (bytes[number >> 3] & (1 << (number & 7)) && seen[number]++) doubled.push(number)
    }
  }
  const missing = []
  for (let number = 0; number < total; number++) if (!seen[number]) missing.push(number)
  const problems = []
  if (missing.length > queued) problems.push(`${missing.length - queued} never ran (${listOf(missing)})`)
  if (missing.length < queued) problems.push(`${queued - missing.length} that ran are still queued`)
  if (doubled.length > 0) problems.push(`${doubled.length} ran more than once (${listOf(doubled)})`)
  if (foreign.length > 0) problems.push(`${foreign.length} had a wrong number (${listOf(foreign)})`)
  if (problems.length > 0) throw new Error(`of ${total} jobs ${problems.join(', ')}`)
}

const listOf = (numbers) => numbers.slice(0, SHOWN).join(', ') + (numbers.length > SHOWN ? ', …' : '')
