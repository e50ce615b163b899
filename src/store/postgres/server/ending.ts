/** Ends connections, also to a server that does not answer: it is frozen, or the network is cut. */

import { once } from 'node:events'
import type { Client, Pool, PoolClient } from 'pg'
import { within } from '../../../job/wait.ts'

/** How long the server has to end a connection, before it is cut. */
export const END_MS = 1000

export async function endClient(client: Client): Promise<void> {
  await within(
    END_MS,
    client.end().catch(() => undefined),
  )
  client.connection.stream.destroy()
}

/** Returns a function that ends the pool; work under way has `ms`. Call this before the pool is used. */
export function enderOf(pool: Pool): (ms?: number) => Promise<void> {
  const clients = new Set<PoolClient>()
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  return async (ms = 0) => {
    await within(ms, pool.end())
    const ends = Array.from(clients, (client) => once(client, 'end').catch(() => undefined))
    await within(END_MS, Promise.all(ends))
    for (const client of clients) client.connection.stream.destroy()
  }
}
