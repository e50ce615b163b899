/** The leases of owners. A renewal has a number, which observers compare; no clock of the server decides a claim. */

import type { ClaimCondition, Lease } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

interface LeaseRow extends Pick<Lease, 'owner' | 'host' | 'seconds' | 'stamp' | 'ended'> {
  claimed: number
}

export class Leases extends Tables {
  /** Returns the owner's id and the newest version of the cancellations; undefined: the owner has no lease. */
  async current(owner: string): Promise<{ owner: number; cancellations: number } | undefined> {
    return this.db.first(sql.owner.current, owner)
  }

  async renew(owner: string, seconds: number): Promise<boolean> {
    return (await this.db.first(sql.owner.renew, owner, seconds)) !== undefined
  }

  async list(): Promise<Lease[]> {
    const rows = await this.db.all<LeaseRow>(sql.owner.list)
    return rows.map(({ claimed, ...lease }) => ({ ...lease, ends: lease.stamp, claimed: claimed === 1 }))
  }

  /** `asked` is when the caller asked for the claim. A claim with a condition that has waited for the lock too long fails. */
  async claim(owner: string, condition: ClaimCondition | undefined, asked: number): Promise<boolean> {
    if (condition === 'no-lease') return false
    if (condition !== undefined) {
      const row = await this.db.first<{ seconds: number }>(sql.owner.seconds, owner)
      if (!row || performance.now() - asked > (row.seconds * 1000) / 6) return false
    }
    return (await this.db.first(sql.owner.claim, owner, condition?.ends ?? null)) !== undefined
  }
}
