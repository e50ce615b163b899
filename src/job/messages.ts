/** The messages of one attempt. Of more than 40 the first ten and the last thirty are kept. */

export interface Said {
  at: number
  text: string
}

const MOST_MESSAGES = 40
export const FIRST_MESSAGES = 10

export class Messages {
  readonly said: Said[] = []
  /** The number of messages that were dropped between the first ten and the others. */
  dropped = 0

  add(message: Said): void {
    if (this.said.length >= MOST_MESSAGES) {
      this.said.splice(FIRST_MESSAGES, 1)
      this.dropped++
    }
    this.said.push(message)
  }
}

/** Merges the messages about one row with those about all rows, in order. */
export function together(all: Messages | undefined, own: Messages | undefined): Messages {
  if (!all || !own) return all ?? own ?? new Messages()
  const both = new Messages()
  both.said.push(...all.said, ...own.said)
  both.said.sort((a, b) => a.at - b.at)
  both.dropped = all.dropped + own.dropped
  return both
}
