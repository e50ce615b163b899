/** The messages of an attempt (`ctx.message`), and the messages of earlier attempts in the text of a job. */

import { isObject } from './json.ts'

export const MOST_MESSAGES = 40
export const FIRST_MESSAGES = 10
const MOST_CHARACTERS = 2000
/** From then on (ms), `toISOString` returns another format. */
const YEAR_10000 = 253_402_300_800_000

/** A message of an attempt. `at` is in milliseconds since 1970. */
export interface AttemptMessage {
  at: number
  text: string
}

/** The messages of one attempt. Of more than 40 the first ten and the last thirty are kept. */
export class Messages {
  readonly messages: AttemptMessage[] = []
  /** The number of messages that were dropped between the first ten and the others. */
  dropped = 0

  add(message: AttemptMessage): void {
    if (this.messages.length >= MOST_MESSAGES) {
      this.messages.splice(FIRST_MESSAGES, 1)
      this.dropped++
    }
    this.messages.push(message)
  }
}

/** Merges the messages about one row with those about all rows, in order. */
export function mergeMessages(all: Messages | undefined, own: Messages | undefined): Messages {
  if (!all || !own) return all ?? own ?? new Messages()
  const both = new Messages()
  both.messages.push(...all.messages, ...own.messages)
  both.messages.sort((a, b) => a.at - b.at)
  both.dropped = all.dropped + own.dropped
  return both
}

/** Returns the text of a message as it is stored: well-formed, and cut to 2,000 characters. */
export function cutMessage(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text.toWellFormed()
  // The text must not end with half a surrogate pair.
  return `${text.slice(0, MOST_CHARACTERS - 1).replace(/[\ud800-\udbff]$/, '')}…`.toWellFormed()
}

/** Returns the member `hk_messages` of a job after an attempt. `kept` is the member before it, `added` are its messages. */
export function messagesAfter(kept: unknown, added: readonly AttemptMessage[]): AttemptMessage[] {
  const all = [...readMessages(kept), ...added.map(({ at, text }) => ({ at, text: cutMessage(text) }))]
  if (all.length <= MOST_MESSAGES) return all
  return [...all.slice(0, FIRST_MESSAGES), ...all.slice(FIRST_MESSAGES - MOST_MESSAGES)]
}

/** Reads the member `hk_messages` of a job. It may have any value, because other programs write jobs, too. */
export function readMessages(value: unknown): AttemptMessage[] {
  return Array.isArray(value) ? value.filter(isMessage) : []
}

function isMessage(value: unknown): value is AttemptMessage {
  const { at, text } = isObject(value) ? value : {}
  return typeof text === 'string' && typeof at === 'number' && at >= 0 && at < YEAR_10000
}
