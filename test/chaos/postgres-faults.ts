import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../postgres/address.ts'
import type { PostgresServer } from '../postgres/server.ts'
import type { Crew } from './crew.ts'

const LEASE_MS = 1000

/** Where faults are injected, and for how long. */
export interface FaultContext {
  server: PostgresServer
  crew: Crew
  seconds: number
  random: () => number
}

/** Injects faults for a number of seconds; resolves with their number when the last one is over. */
export type Injection = (context: FaultContext) => Promise<number>

/** Injects a fault again and again, with pauses of up to `most` milliseconds. */
async function repeatedly(
  { seconds, random }: FaultContext,
  most: number,
  inject: () => Promise<unknown>,
): Promise<number> {
  const end = performance.now() + seconds * 1000
  let count = 0
  while (performance.now() < end) {
    await sleep(random() * most)
    await inject()
    count++
  }
  return count
}

/** Ends about a third of the connections of all processes. */
export function endConnections(server: PostgresServer): Promise<unknown> {
  return server.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'highkiq%' AND random() < 0.3",
  )
}

export const POSTGRES_FAULTS: Record<string, Injection> = {
  'workers are killed': (context) => repeatedly(context, 400, () => context.crew.replace(context.random)),

  'workers are frozen past their leases and continue': (context) =>
    repeatedly(context, 200, () => context.crew.freeze(3 * LEASE_MS, context.random)),

  'connections are ended by an administrator': (context) =>
    repeatedly(context, 100, () => endConnections(context.server)),

  'the server crashes and starts again': (context) =>
    repeatedly(context, 1500, async () => {
      await context.server.kill()
      await context.server.start()
    }),

  'the server is shut down and starts again': (context) =>
    repeatedly(context, 1500, async () => {
      await context.server.stop()
      await context.server.start()
    }),
}

/** The primary crashes amid the load, its synchronous standby is promoted, and the address of the primary leads to it. */
export function failOver(primary: PostgresServer, standby: PostgresServer, address: Address): Injection {
  return async ({ seconds }) => {
    await sleep((seconds * 1000) / 2)
    await primary.kill()
    address.moveTo(undefined)
    await standby.query('SELECT pg_promote()')
    address.moveTo(standby.port)
    return 1
  }
}
