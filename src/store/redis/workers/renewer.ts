/** The lease thread's own connection, which only renews leases. */

import { PriorityQueues } from '../jobs/priority-queues.ts'
import { Server } from '../server/server.ts'
import type { RedisStoreOptions } from '../server/url.ts'
import { Leases } from './leases.ts'

export async function openRenewer(options: RedisStoreOptions) {
  const server = new Server(options)
  const leases = new Leases(server, new PriorityQueues(server))
  return {
    renew: (owner: string, seconds: number): Promise<boolean> => leases.renew(owner, seconds),
    close: (): void => server.close(),
  }
}
