/** What a handler says of its attempt. Of more than 40 messages the first ten and the last thirty are kept. */

export interface Said {
  at: number
  text: string
}

const MOST_MESSAGES = 40
export const FIRST_MESSAGES = 10

export class Messages {
  readonly said: Said[] = []
  /** How many between the first ten and the others are not kept. */
  dropped = 0

  add(message: Said): void {
    if (this.said.length >= MOST_MESSAGES) {
      this.said.splice(FIRST_MESSAGES, 1)
      this.dropped++
    }
    this.said.push(message)
  }
}

/** Those about one row among those about all, in order. */
export function together(all: Messages | undefined, own: Messages | undefined): Messages {
  if (!all || !own) return all ?? own ?? new Messages()
  const both = new Messages()
  both.said.push(...all.said, ...own.said)
  both.said.sort((a, b) => a.at - b.at)
  both.dropped = all.dropped + own.dropped
  return both
}
