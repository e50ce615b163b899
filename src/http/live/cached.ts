/**
 * Returns a function that computes a value once for all callers, and reuses it for `ms` milliseconds. A failure rejects
 * for the callers that wait, and is not reused.
 */
export function cached<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let at = Number.NEGATIVE_INFINITY
  let last: Promise<T> | undefined
  return () => {
    if (last && performance.now() - at < ms) return last
    const made = make()
    at = performance.now()
    last = made
    made.catch(() => {
      if (last === made) last = undefined
    })
    return made
  }
}
