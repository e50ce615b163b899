/**
 * Returns a function that computes a value once for all callers, and reuses it for `ms` milliseconds. A failure rejects
 * for the callers that wait, and is not reused. After `forget` the next call computes anew.
 */
export function cached<T>(ms: number, make: () => Promise<T>): (() => Promise<T>) & { forget(): void } {
  let at = Number.NEGATIVE_INFINITY
  let last: Promise<T> | undefined
  const forget = () => {
    last = undefined
  }
  const get = () => {
    if (last && performance.now() - at < ms) return last
    const made = make()
    at = performance.now()
    last = made
    made.catch(() => {
      if (last === made) last = undefined
    })
    return made
  }
  return Object.assign(get, { forget })
}

/** Caches one value for each key, for at most `most` keys. */
export function cachedBy<T>(ms: number, most: number, make: (key: string) => Promise<T>) {
  const known = new Map<string, () => Promise<T>>()
  const get = (key: string): Promise<T> => {
    const value = known.get(key) ?? cached(ms, () => make(key))
    if (known.size >= most && !known.has(key)) known.clear()
    known.set(key, value)
    return value()
  }
  return Object.assign(get, { forget: () => known.clear() })
}
