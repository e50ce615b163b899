/** Words of commands that a message advises. */

/** Quotes a word for a shell, if it needs quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
