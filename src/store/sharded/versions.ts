/**
 * Gives a number to each list that has one number of each shard. A new list gets a greater number than all before. The
 * numbers are valid in this process only.
 */

/** The most lists that are kept. */
const KEPT = 10_000

export class Versions {
  readonly #byKey = new Map<string, number>()
  readonly #byNumber = new Map<number, readonly number[]>()
  #newest: readonly number[]
  #last = 0

  constructor(shards: number) {
    this.#newest = Array.from({ length: shards }, () => 0)
  }

  /** Returns the number of a list. That of a list of zeros is 0. */
  numberOf(numbers: readonly number[]): number {
    if (numbers.every((number) => number === 0)) return 0
    const key = numbers.join()
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const number = ++this.#last
    this.#byKey.set(key, number)
    this.#byNumber.set(number, numbers)
    if (this.#byNumber.size > KEPT) this.#deleteOldest()
    return number
  }

  /** Returns the number of the newest list with new numbers of some shards. */
  numberWith(numbers: ReadonlyMap<number, number>): number {
    this.#newest = this.#newest.map((number, index) => numbers.get(index) ?? number)
    return this.numberOf(this.#newest)
  }

  /** Returns the list of a number; undefined: the number is from another process, or too old. */
  of(number: number): readonly number[] | undefined {
    return number === 0 ? this.#newest.map(() => 0) : this.#byNumber.get(number)
  }

  /** Returns the first number whose list has at least `least` for a shard; the next new number if there is none. */
  firstWith(index: number, least: number): number {
    for (const [number, numbers] of this.#byNumber) if ((numbers[index] as number) >= least) return number
    return this.#last + 1
  }

  #deleteOldest(): void {
    const [[number, numbers]] = this.#byNumber as unknown as [[number, readonly number[]]]
    this.#byNumber.delete(number)
    this.#byKey.delete(numbers.join())
  }
}
