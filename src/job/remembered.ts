/** A text longer than this is read again each time, so that a memory stays small. */
const LONGEST = 5000

export interface Remembered<Value> {
  (text: string): Value
  /** Forgets the texts that were not asked for since the last call. */
  forgetUnused(): void
}

/**
 * Returns `read` with a memory: a text that was asked for since the call of `forgetUnused` before the last one is not read again.
 * Callers share the values, and must not change them. `undefined` is not remembered.
 */
export function remembered<Value>(read: (text: string) => Value): Remembered<Value> {
  /** The texts that were asked for between the last two calls of `forgetUnused`, and since the last one. */
  let before = new Map<string, Value>()
  let used = new Map<string, Value>()
  const readOnce = (text: string): Value => {
    if (text.length > LONGEST) return read(text)
    const known = used.get(text)
    if (known !== undefined) return known
    const value = before.get(text) ?? read(text)
    used.set(text, value)
    return value
  }
  return Object.assign(readOnce, {
    forgetUnused() {
      before = used
      used = new Map()
    },
  })
}
