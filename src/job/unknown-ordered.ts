import { HighkiqError } from './errors.ts'

/** Names in the message. */
const MOST_NAMES = 20

/** Somebody named an ordered queue that is none; `names`: those that there are. */
export function unknownOrdered(name: string, names: readonly string[]): HighkiqError {
  const more = names.length > MOST_NAMES ? `, and ${names.length - MOST_NAMES} more` : ''
  const there = names.length > 0 ? `there are ${names.slice(0, MOST_NAMES).join(', ')}${more}` : 'there are none yet'
  return new HighkiqError('UNKNOWN_ORDERED', `no ordered queue is named ${name}: ${there}`)
}
