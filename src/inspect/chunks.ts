/** Walking down (or up) a set in the order of its scores, some megabytes at a time. */

import type { Entry, SetName, Store } from '../store/contract.ts'

const FIRST = 16
const MOST = 500
/** Characters that one chunk should have. */
const SIZE = 1_000_000

export interface ChunkOptions {
  /** Begins behind it. */
  after?: Entry | undefined
  desc?: boolean
  /** Entries of the first chunk. */
  first?: number
  signal?: AbortSignal | undefined
}

/** @throws the signal's reason */
export async function* chunksOf(
  store: Store,
  set: SetName,
  { after, desc = true, first = FIRST, signal }: ChunkOptions = {},
): AsyncGenerator<Entry[], void, void> {
  let last = after
  for (let limit = first; ; ) {
    signal?.throwIfAborted()
    const chunk = await store.entries(set, { ...(last ? { after: last } : {}), desc, limit })
    if (chunk.length > 0) yield chunk
    if (chunk.length < limit) return
    last = chunk.at(-1)
    const size = chunk.reduce((sum, { text }) => sum + text.length, 0)
    limit = Math.max(Math.min(Math.floor((SIZE * chunk.length) / size), limit * 8, MOST), 1)
  }
}
