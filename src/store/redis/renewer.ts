/** What the lease thread runs: a connection of its own that does nothing but renew. */

import { Leases } from './leases.ts'
import { Server } from './server.ts'
import type { RedisStoreOptions } from './url.ts'

export async function openRenewer(options: RedisStoreOptions) {
  const server = new Server(options)
  const leases = new Leases(server)
  return {
    renew: (owner: string, seconds: number): Promise<boolean> => leases.renew(owner, seconds),
    close: (): void => server.close(),
  }
}
