/**
 * Texts with NUL, which PostgreSQL can't store: NUL becomes \x01\x01, and \x01 becomes \x01\x02. So different texts stay
 * different, and keep their order. A payload has neither, because JSON escapes them.
 */

/** Returns a text as it is stored. */
export function storedText(text: string): string {
  if (!text.includes('\0') && !text.includes('\x01')) return text
  return text.replaceAll('\x01', '\x01\x02').replaceAll('\0', '\x01\x01')
}

/** Returns a stored text as it was given. */
export function givenText(stored: string): string {
  if (!stored.includes('\x01')) return stored
  return stored.replaceAll('\x01\x01', '\0').replaceAll('\x01\x02', '\x01')
}
