/** What many ask for, and takes a while: asked for once, and good for some time. */
export class Cached<T> {
  readonly #make: () => Promise<T>
  readonly #ms: number
  #at = Number.NEGATIVE_INFINITY
  #made: Promise<T> | undefined

  constructor(ms: number, make: () => Promise<T>) {
    this.#ms = ms
    this.#make = make
  }

  /** A failure is told to those who wait, and to nobody else. */
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
