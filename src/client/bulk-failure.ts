/** Says, when a bulk push fails, which of its rows are stored and which are to be pushed again. */

import { HighkiqError, messageOf, PushError } from '../job/errors.ts'

/** How far a bulk push came. Rows are numbered from 0. */
export interface BulkProgress {
  /** The id of each row so far; null where middleware stopped it. */
  jids: (string | null)[]
  /** The number of rows that the store was asked to take. */
  sent: number
  /** The rows among them that the store did not take. */
  refused: Set<number>
  /** The row that could not be read or is invalid. */
  row?: number | undefined
  /** The number of all rows; undefined while the end of an iterable is not reached. */
  total?: number | undefined
}

/**
 * Returns the error of a bulk push that the store or a check refused, with what is stored: `pushed` and `notPushed` (jids),
 * `rows` (those of `notPushed`) and `next` (no row is stored from this one on) in its details. An error of the caller's own
 * code stays as it is when nothing is stored. Otherwise it is the `cause` of a PushError.
 */
export function bulkFailure(name: string, thrown: unknown, progress: BulkProgress): unknown {
  const { jids, sent, refused } = progress
  const isOurs = thrown instanceof HighkiqError && !(thrown instanceof PushError)
  if (!isOurs && sent === 0) return thrown
  const jidsOf = (isWanted: (row: number) => boolean) =>
    jids.slice(0, sent).flatMap((jid, row) => (jid !== null && isWanted(row) ? [jid] : []))
  const about = {
    pushed: jidsOf((row) => !refused.has(row)),
    notPushed: jidsOf((row) => refused.has(row)),
    rows: [...refused],
    next: sent,
  }
  const message = `${isOurs ? '' : `${name}: `}${messageOf(thrown)} (${describe(progress)})`
  const cause = { cause: thrown }
  if (isOurs) return new HighkiqError(thrown.code, message, { ...thrown.details, ...about }, cause)
  return new PushError(message, [], false, { ...cause, ...about })
}

function describe({ jids, sent, refused, row, total }: BulkProgress): string {
  const where = row === undefined ? 'this bulk' : `row ${row} of this bulk`
  const stopped = jids.slice(0, sent).filter((jid) => jid === null).length
  if (sent === refused.size + stopped) return `${where}: no row is stored`
  const rest = sent === total ? '' : `, none from row ${sent} on: push those again`
  if (refused.size + stopped === 0) return `${where}: rows 0 to ${sent - 1} are stored${rest}`
  const others = stopped === 0 ? 'all' : `client middleware stopped ${stopped}, all others`
  const most = refused.size === 0 ? 'are stored' : `but ${refused.size} are stored (details.rows)`
  return `${where}: of rows 0 to ${sent - 1} ${others} ${most}${rest}`
}
