import { type PageName, sourceOf, TRANSFER_PAGES_KEPT } from '../contract.ts'

/** Names are deleted with every hundredth page of a source, and with every task. */
const DELETED_AT_ONCE = 100

/** Returns the arguments of the statement `prune` for a page or a task that is stored; undefined: it deletes nothing. */
export function pruneArguments({ transfer, number }: PageName): [string, string, number, number] | undefined {
  const source = sourceOf(transfer)
  if (source === '' || number % DELETED_AT_ONCE !== 0) return undefined
  // "0" follows "/" in the order of characters.
  return [`${source}/`, `${source}0`, Number(number === 0), TRANSFER_PAGES_KEPT]
}
