/** Whether the leases of a process are still renewed, and when they end if they are not. */

import type { Highkiq } from '../../app.ts'

type Lease = Awaited<ReturnType<Highkiq['store']['workers']['leases']>>[number]

/** What a worker takes if nothing else is said. */
const STANDARD_MS = 15_000
/** The clock of a store is another one: what it would say beyond that is not believed. */
const LONGEST_MS = 3_600_000

export interface LeaseState {
  /** A lease of it has just been renewed: it works, whatever it shows. */
  isRenewed: boolean
  /** It has let its leases end. */
  isLost: boolean
  /** Seconds until its jobs are free for others. */
  returnsIn: number
}

/** The end of a lease, since when it is that, and whether it was ever seen to be another. */
interface Observation {
  ends: number
  at: number
  isRenewed: boolean
}

export class LeaseObserver {
  /** By owner. */
  #seen = new Map<string, Observation>()

  /** @param now of this process's own clock, which goes evenly */
  observe(leases: readonly Lease[], now: number): void {
    const seen = new Map<string, Observation>()
    for (const { owner, ends } of leases) {
      const before = this.#seen.get(owner)
      const isSame = before?.ends === ends
      seen.set(owner, isSame ? before : { ends, at: now, isRenewed: before !== undefined })
    }
    this.#seen = seen
  }

  /** Of the process with this identity. `time`: milliseconds since 1970; `now`: as for `look`. */
  stateOf(identity: string, leases: readonly Lease[], time: number, now: number): LeaseState {
    const own = leases.filter(({ owner }) => owner.startsWith(identity))
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
