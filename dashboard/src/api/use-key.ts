import { useRef } from 'preact/hooks'

/**
 * Makes an Idempotency-Key for each request that differs from the one before: a double click, or a second try after a lost
 * answer, does not do it twice. `subject` is a part of the request that is not in its text.
 */
export function useKey(): (text: string, subject?: unknown) => string {
  const last = useRef<{ text: string; subject: unknown; key: string }>(undefined)
  return (text, subject) => {
    if (last.current?.text !== text || last.current.subject !== subject) {
      // Browsers have no `randomUUID` over plain HTTP from another machine.
      last.current = { text, subject, key: crypto.getRandomValues(new Uint32Array(4)).join('-') }
    }
    return last.current.key
  }
}
