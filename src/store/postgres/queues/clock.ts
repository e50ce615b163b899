import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

/**
 * Resolves with the milliseconds by which the clock of this machine is ahead of the server's; 0 if it is not. What is removed
 * because of its age is removed by the server's clock, because other processes still need it.
 */
export async function clockAhead(db: Database): Promise<number> {
  const asked = Date.now()
  const { ms } = (await db.first<{ ms: number }>(sql.clock.now)) as { ms: number }
  return Math.max(asked - ms, 0)
}
