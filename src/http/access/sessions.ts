/** Remembers in the store which logins of browsers were ended, since a copied cookie stays valid by itself. */

import { MOST_JID_CHARACTERS } from '../../job/payload.ts'

/** A process asks the store about the same login again after this time. */
const KNOWN_MS = 5000
/** The number of logins that a process remembers. */
const MOST_KNOWN = 1000
const ENDED = 'true'

/** The part of the store that keeps texts by name. */
interface TextStore {
  keep(name: string, text: string, seconds: number): Promise<void>
  find(name: string): Promise<string | null>
}

interface KnownLogin {
  hasEnded: boolean
  at: number
}

export class Sessions {
  readonly #results: () => TextStore
  readonly #known = new Map<string, KnownLogin>()

  /** @param results called for each use, since the store may open later */
  constructor(results: () => TextStore) {
    this.#results = results
  }

  /**
   * Ends a login in all processes: here at once, elsewhere within five seconds.
   * @param until when its cookie expires, in seconds since the epoch
   */
  async end(id: string, until: number): Promise<void> {
    const seconds = Math.max(until - Math.floor(Date.now() / 1000), 1)
    this.#remember(id, true)
    await this.#results().keep(keyOf(id), ENDED, seconds)
  }

  /** While the store does not answer, no login counts as ended: a caller can read and change nothing then. */
  async hasEnded(id: string): Promise<boolean> {
    const known = this.#known.get(id)
    if (known && (known.hasEnded || performance.now() - known.at < KNOWN_MS)) return known.hasEnded
    let hasEnded = false
    try {
      hasEnded = (await this.#results().find(keyOf(id))) !== null
    } catch {
      // The next request after a while asks again.
    }
    // The login may have ended here meanwhile.
    if (this.#known.get(id)?.hasEnded) return true
    this.#remember(id, hasEnded)
    return hasEnded
  }

  #remember(id: string, hasEnded: boolean): void {
    this.#known.delete(id)
    this.#known.set(id, { hasEnded, at: performance.now() })
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KNOWN) break
      this.#known.delete(oldest)
    }
  }
}

/** No job can be pushed with such an id, since it is too long: a push deletes the result of an earlier job with its jid. */
const keyOf = (id: string) => `login ${id} `.padEnd(MOST_JID_CHARACTERS + 1, '-')
