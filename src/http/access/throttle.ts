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
  /** The longest wait. It is short for a name and a proxy, since a stranger could lock others out. */
  mostMs: number
  /** Many clients may share the key, so a right login of one of them does not forget the count. */
  isShared?: boolean
}

const RULES = {
  address: { free: 5, mostMs: 900_000, isShared: true },
  proxy: { free: 100, mostMs: 30_000, isShared: true },
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
      this.#makeRoom(now)
      this.#failures.set(id, { count, at: now, until: now + wait })
      longest = Math.max(longest, wait)
    }
    return longest
  }

  /** Forgets the wrong logins of these keys after a right one. */
  succeeded(keys: LoginKeys): void {
    for (const { id, isShared } of this.#each(keys)) if (!isShared) this.#failures.delete(id)
  }

  /** Deletes the oldest entries whose wait is over. When all of them wait, it deletes the oldest. */
  #makeRoom(now: number): void {
    let passed = 0
    for (const [id, failures] of this.#failures) {
      if (this.#failures.size < MOST_KEPT) break
      this.#failures.delete(id)
      // An entry that still waits moves to the end, so that the next call does not pass it again.
      if (failures.until > now && passed++ < MOST_KEPT) this.#failures.set(id, failures)
    }
  }

  #each(keys: LoginKeys): (Rule & { id: string })[] {
    return Object.entries<Rule>(RULES).flatMap(([kind, rule]) => {
      const key = keys[kind as keyof typeof RULES]
      return key === undefined ? [] : [{ ...rule, id: `${kind} ${key}` }]
    })
  }
}
