import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../postgres/address.ts'
import type { PostgresServer } from '../postgres/server.ts'
import type { Crew } from './crew.ts'

const LEASE_MS = 1000

export interface Struck {
  server: PostgresServer
  crew: Crew
  seconds: number
  random: () => number
}

/** Does harm for so many seconds; resolves when it is calm again, with the number of times that it struck. */
export type Strike = (struck: Struck) => Promise<number>

/** Strikes again and again, with a pause of up to `most` milliseconds. */
async function repeatedly({ seconds, random }: Struck, most: number, strike: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1000
  let strikes = 0
  while (performance.now() < end) {
    await sleep(random() * most)
    await strike()
    strikes++
  }
  return strikes
}

export const POSTGRES_FAULTS: Record<string, Strike> = {
  'workers are killed': (struck) => repeatedly(struck, 400, () => struck.crew.replace(struck.random)),

  'workers are frozen past their leases and continue': (struck) =>
    repeatedly(struck, 200, () => struck.crew.freeze(3 * LEASE_MS, struck.random)),

  'connections are ended by an administrator': (struck) =>
    repeatedly(struck, 100, () =>
      struck.server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'highkiq%' AND random() < 0.3",
      ),
    ),

  'the server crashes and starts again': (struck) =>
    repeatedly(struck, 1500, async () => {
      await struck.server.kill()
      await struck.server.start()
    }),

  'the server is shut down and starts again': (struck) =>
    repeatedly(struck, 1500, async () => {
      await struck.server.stop()
      await struck.server.start()
    }),
}

/** The primary crashes amid the load, its synchronous standby is promoted, and the address of the primary leads to it. */
export function failOver(primary: PostgresServer, standby: PostgresServer, address: Address): Strike {
  return async ({ seconds }) => {
    await sleep((seconds * 1000) / 2)
    await primary.kill()
    address.moveTo(undefined)
    await standby.query('SELECT pg_promote()')
    address.moveTo(standby.port)
    return 1
  }
}
