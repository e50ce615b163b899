/** Renews leases in the lease thread, on a connection of its own. */

import { Database, type DatabaseOptions } from '../file/database.ts'
import { Writer } from '../file/writer.ts'
import { Leases } from './leases.ts'

export async function openRenewer(options: DatabaseOptions) {
  const db = await Database.open(options)
  const writer = new Writer(db, () => {})
  const leases = db.get(Leases)
  return {
    // While the file is locked, the event loop of the main thread may become blocked for too long.
    renew: (owner: string, seconds: number, isWanted: () => boolean): Promise<boolean> =>
      writer.write(() => isWanted() && leases.renew(owner, seconds)),
    close: async (): Promise<void> => {
      // A renewal that still waits for the file is useless now.
      await writer.close(0)
      db.close()
    },
  }
}
