/** Reads a job set in the order of its scores, about a megabyte at a time. */

import type { Entry, SetName, Store } from '../store/contract.ts'

const FIRST = 16
const MOST = 500
/** The number of characters that one chunk should have. */
const SIZE = 1_000_000

/** A limited scan always reads this much, so that a slow moment does not make a set look large. */
const LEAST = { entries: 1000, characters: 2_000_000 }

/** Counts what was scanned, and tells when the limits are reached. */
export class ScanBudget {
  entries = 0
  #characters = 0
  readonly #end: number
  readonly #most: number

  constructor({ most, ms }: { most: number; ms: number }) {
    this.#most = most
    this.#end = performance.now() + ms
  }

  add({ text }: Pick<Entry, 'text'>): void {
    this.entries++
    this.#characters += text.length
  }

  get isEnough(): boolean {
    if (this.entries >= this.#most) return true
    const isLittle = this.entries < LEAST.entries && this.#characters < LEAST.characters
    return !isLittle && performance.now() > this.#end
  }
}

export interface ChunkOptions {
  /** Starts after this entry. */
  after?: Entry | undefined
  desc?: boolean
  /** The number of entries in the first chunk. */
  first?: number
  signal?: AbortSignal | undefined
}

/** Yields the entries of a job set in chunks, highest score first by default. @throws the signal's reason */
export async function* chunksOf(
  store: Store,
  set: SetName,
  { after, desc = true, first = FIRST, signal }: ChunkOptions = {},
): AsyncGenerator<Entry[], void, void> {
  let last = after
  for (let limit = first; ; ) {
    signal?.throwIfAborted()
    const chunk = await store.jobSets.page(set, { ...(last ? { after: last } : {}), desc, limit })
    if (chunk.length > 0) yield chunk
    if (chunk.length < limit) return
    last = chunk.at(-1)
    const size = chunk.reduce((sum, { text }) => sum + text.length, 0)
    limit = Math.max(Math.min(Math.floor((SIZE * chunk.length) / size), limit * 8, MOST), 1)
  }
}
