/** Job sets as the tables of SQLite and PostgreSQL have them. */

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
