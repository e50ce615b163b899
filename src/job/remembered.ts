/** A text longer than this is read again each time, so that a memory stays small. */
const LONGEST = 5000

export interface Remembered<Value> {
  (text: string): Value
  /** Forgets the texts that were not read since the last call. */
  forgetUnused(): void
}

/**
 * Returns `read` with a memory: it does not read a text again that it has read lately. Callers share the values, and must not
 * change them.
 */
export function remembered<Value>(read: (text: string) => Value): Remembered<Value> {
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
