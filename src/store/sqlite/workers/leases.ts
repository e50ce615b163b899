/** The leases of owners. All times are on the machine's monotonic clock. */

import type { ClaimCondition, Lease } from '../../contract.ts'
import { bootId, endIn, isOfThisStart, isPast, monotonicNow } from '../file/clock.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

interface LeaseRow extends Pick<Lease, 'owner' | 'host' | 'ends' | 'seconds'> {
  boot: string
  claimed: number
}

export class Leases extends Tables {
  /** Returns the owner's id and the newest version of the cancellations; undefined: the owner has no lease. */
  current(owner: string): { owner: number; cancellations: number } | undefined {
    return this.db.first(sql.owner.current, owner)
  }

  renew(owner: string, seconds: number): boolean {
    return this.db.first(sql.owner.renew, endIn(seconds), seconds, bootId, owner) !== undefined
  }

  list(): Lease[] {
    const now = monotonicNow()
    return this.db.all<LeaseRow>(sql.owner.list).map(({ boot, claimed, ...lease }) => {
      const { ends, seconds } = lease
      // A renewal before the last start of the machine is older than all others.
      const stamp = isOfThisStart(ends, boot, seconds, now) ? ends - Math.round(seconds * 1000) : 0
      return { ...lease, stamp, ended: isPast(ends, boot, seconds, now), claimed: claimed === 1 }
    })
  }

  /** `asked` is when the caller asked for the claim. A claim with a condition that has waited for the file too long fails. */
  claim(owner: string, condition: ClaimCondition | undefined, asked: number): boolean {
    const row = this.db.first<LeaseRow & { id: number }>(sql.owner.find, owner)
    if (!row || row.claimed) return false
    if (condition !== undefined) {
      if (condition === 'no-lease' || row.ends !== condition.ends) return false
      if (monotonicNow() - asked > (row.seconds * 1000) / 6) return false
    }
    this.db.run(sql.owner.claim, monotonicNow(), row.id)
    return true
  }
}
