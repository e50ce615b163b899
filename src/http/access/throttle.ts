/**
 * Slows down clients that guess logins: each wrong login makes the next one wait longer, for its address and for its
 * name.
 */

interface Failures {
  count: number
  /** The time of the last wrong login, and the time until which more are refused, on the monotonic clock. */
  at: number
  until: number
}

interface Rule {
  /** The number of wrong logins without a wait. */
  free: number
  /** The longest wait. It is short for a name, since anyone who knows the name could lock its owner out. */
  mostMs: number
}

const RULES = {
  address: { free: 5, mostMs: 900_000 },
  name: { free: 20, mostMs: 30_000 },
} satisfies Record<string, Rule>

/** The keys by which a login is counted; undefined when a key is not known. */
export type LoginKeys = { [Kind in keyof typeof RULES]?: string | undefined }

const FORGOTTEN_MS = 3_600_000
const MOST_KEPT = 10_000

export class LoginThrottle {
  readonly #now: () => number
  readonly #failures = new Map<string, Failures>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Returns the milliseconds until another login is accepted; 0 when it is accepted now. */
  wait(keys: LoginKeys): number {
    const now = this.#now()
    return Math.max(0, ...this.#each(keys).map(({ id }) => (this.#failures.get(id)?.until ?? now) - now))
  }

  /**
   * Counts a wrong login.
   * @returns the milliseconds that the next one has to wait
   */
  failed(keys: LoginKeys): number {
    const now = this.#now()
    let longest = 0
    for (const { id, free, mostMs } of this.#each(keys)) {
      const before = this.#failures.get(id)
      const count = before && now - before.at < FORGOTTEN_MS ? before.count + 1 : 1
      const wait = count < free ? 0 : Math.min(1000 * 2 ** (count - free), mostMs)
      // The map keeps the order of the last failures, so that the oldest is dropped first.
      this.#failures.delete(id)
      this.#failures.set(id, { count, at: now, until: now + wait })
      longest = Math.max(longest, wait)
    }
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= MOST_KEPT) break
      this.#failures.delete(oldest)
    }
    return longest
  }

  /** Forgets the wrong logins of these keys after a right one. */
  succeeded(keys: LoginKeys): void {
    for (const { id } of this.#each(keys)) this.#failures.delete(id)
  }

  #each(keys: LoginKeys): (Rule & { id: string })[] {
    return Object.entries(RULES).flatMap(([kind, rule]) => {
      const key = keys[kind as keyof typeof RULES]
      return key === undefined ? [] : [{ ...rule, id: `${kind} ${key}` }]
    })
  }
}
