/** Quoting for the shell commands in messages. */

/** Quotes a word for a shell, if it needs quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
