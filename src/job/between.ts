/**
 * The shortest text that is greater than `low` and not greater than `high`, byte by byte in UTF-8, where `low` < `high`:
 * a name for the place between the two that is short, however long they are.
 *
 * @example between('{"jid":"a1…', '{"jid":"b2…') // '{"jid":"b'
 */
export function between(low: string, high: string): string {
  const [below, above] = [Buffer.from(low), Buffer.from(high)]
  let end = 0
  while (end < below.length && below[end] === above[end]) end++
  // A character is not cut: what follows its first byte begins with the bits 10.
  do end++
  while (((above[end] ?? 0) & 0xc0) === 0x80)
  return above.toString('utf8', 0, end)
}
