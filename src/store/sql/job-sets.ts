/** Job sets as the tables of SQLite and PostgreSQL have them. */

import { readPayload } from '../../job/payload.ts'
import type { Entry, LimitedSet, MovingSet, SetName } from '../contract.ts'

/** The ids of the sets that always exist. The others get one with their first job. */
export const SET_ID: Record<Exclude<SetName, LimitedSet | MovingSet>, number> = {
  retry: 1,
  schedule: 2,
  dead: 3,
  finished: -1,
}
/** No set has this id. */
export const NO_SET = 0

/** The bounds after the last entry and before the first one. */
export const HIGHEST: Entry = { score: Number.POSITIVE_INFINITY, text: '\u{10ffff}' }
export const LOWEST: Entry = { score: Number.NEGATIVE_INFINITY, text: '' }

/** Notified when an entry may be due earlier than known. */
export const DUE_CHANNEL = ' due'

export function isLimited(set: SetName): set is LimitedSet {
  return set.startsWith('limited:')
}

export function isMoving(set: SetName): set is MovingSet {
  return set.startsWith('moving:')
}

/** The most characters of a jid in the index of finished jobs. */
const MOST_INDEXED = 100

/** Returns the arguments of the statement `finished`: the jid as the index of finished jobs has it, and as JSON. */
export function finishedArgs(jid: string): [indexed: string, json: string] {
  const json = JSON.stringify(jid)
  // An indexed jid ends at the next quote, even at an escaped one.
  const [, begin = ''] = json.split('"')
  return [[...begin].slice(0, MOST_INDEXED).join(''), json]
}

/** Returns the first of these entries that has the jid itself. */
export function firstWithJid(entries: readonly Entry[], jid: string): Entry | null {
  return entries.find(({ text }) => readPayload(text)?.jid === jid) ?? null
}
