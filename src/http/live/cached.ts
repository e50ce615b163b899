/** Reads of the store for many callers at once. */

/** A value that takes a while to compute. It is computed once for all callers, and reused for some time. */
export class Cached<T> {
  readonly #make: () => Promise<T>
  readonly #ms: number
  #at = Number.NEGATIVE_INFINITY
  #made: Promise<T> | undefined

  constructor(ms: number, make: () => Promise<T>) {
    this.#ms = ms
    this.#make = make
  }

  /** A failure rejects for the callers that wait, and is not cached. */
  get(): Promise<T> {
    if (this.#made && performance.now() - this.#at < this.#ms) return this.#made
    const made = this.#make()
    this.#at = performance.now()
    this.#made = made
    made.catch(() => {
      if (this.#made === made) this.#made = undefined
    })
    return made
  }
}

/** Collects an async iterable into an array. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
