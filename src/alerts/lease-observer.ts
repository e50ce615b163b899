/** Observes whether a process renews its leases, and when they end if it does not. */

import type { Lease } from '../store/contract.ts'

/** The default lease time of a worker. */
const STANDARD_MS = 15_000
/** The store has a clock of its own: an end further away than this is ignored. */
const LONGEST_MS = 3_600_000

export interface LeaseState {
  /** True when the process has just renewed a lease, so that it works. */
  isRenewed: boolean
  /** True when all its leases have ended. */
  isLost: boolean
  /** Seconds until other processes can rescue its jobs. */
  returnsIn: number
}

/** The end of a lease, when that end was first seen, and whether it has changed before. */
interface Observation {
  ends: number
  at: number
  isRenewed: boolean
}

export class LeaseObserver {
  /** The observations by owner. */
  #seen = new Map<string, Observation>()

  /** @param now milliseconds on the monotonic clock of this process */
  observe(leases: readonly Lease[], now: number): void {
    const seen = new Map<string, Observation>()
    for (const { owner, ends } of leases) {
      const before = this.#seen.get(owner)
      const isSame = before?.ends === ends
      seen.set(owner, isSame ? before : { ends, at: now, isRenewed: before !== undefined })
    }
    this.#seen = seen
  }

  /** Returns the state of a process with these leases. @param time milliseconds since 1970 @param now as for `observe` */
  stateOf(own: readonly Lease[], time: number, now: number): LeaseState {
    const left = own.map(({ owner, ends, ended, claimed }) => {
      if (ended || claimed) return 0
      const byStore = ends - time
      if (byStore >= 0 && byStore < LONGEST_MS) return byStore
      return Math.max(STANDARD_MS - (now - (this.#seen.get(owner)?.at ?? now)), 0)
    })
    const isFresh = (owner: string) => {
      const { isRenewed = false, at = 0 } = this.#seen.get(owner) ?? {}
      return isRenewed && now - at < STANDARD_MS
    }
    return {
      isRenewed: own.some(({ owner, ended, claimed }) => !ended && !claimed && isFresh(owner)),
      isLost: own.length > 0 && own.every(({ ended, claimed }) => ended || claimed),
      returnsIn: Math.max(0, ...left) / 1000,
    }
  }
}
