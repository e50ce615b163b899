import { setTimeout as sleep } from 'node:timers/promises'
import { Address } from '../../postgres/address.ts'
import { startPostgres } from '../../postgres/server.ts'
import { startProxy } from '../../redis/proxy.ts'
import { startServer } from '../../redis/server.ts'
import type { Crew } from '../crew.ts'
import type { StoreName } from './options.ts'
import type { Strike } from './plan.ts'

/**
 * A fault, and whom it befalls: the next one of the same victim waits until it is over. Resolves with the pid of a worker that
 * it killed.
 */
export interface Fault {
  victim: 'workers' | 'pushers' | 'server'
  strike(strike: Strike): Promise<unknown>
}

/** A store with all that can befall it. */
export interface Scene {
  /** How pushers and workers reach the store. */
  url: string
  /** A way on which the store is always calm. */
  calmUrl: string
  faults: Record<string, Fault>
  close(): Promise<void>
}

/** A process is frozen for longer than a lease of one second and a third. */
const FROZEN_MS = [2000, 4000] as const
const PAUSED_MS = [500, 2500] as const

export function millisecondsOf([least, most]: readonly [number, number], { part }: Strike): number {
  return least + part * (most - least)
}

/** The faults of processes, which all stores have. */
export function faultsOfProcesses(workers: Crew, pushers: Crew): Record<string, Fault> {
  const kill = (crew: Crew) => (strike: Strike) => crew.replace(() => strike.pick)
  const freeze = (crew: Crew) => async (strike: Strike) => {
    await crew.freeze(millisecondsOf(FROZEN_MS, strike), () => strike.pick)
  }
  return {
    'kill worker': { victim: 'workers', strike: kill(workers) },
    'freeze worker': { victim: 'workers', strike: freeze(workers) },
    'stop worker': { victim: 'workers', strike: async ({ pick }) => workers.retire(() => pick) },
    'kill pusher': { victim: 'pushers', strike: async (strike) => void (await kill(pushers)(strike)) },
    'freeze pusher': { victim: 'pushers', strike: freeze(pushers) },
  }
}

export const SCENES: Record<StoreName, (folder: string, seed: number) => Promise<Scene>> = {
  async sqlite(folder) {
    const url = `sqlite:${folder}/chaos.db`
    return { url, calmUrl: url, faults: {}, close: async () => {} }
  },

  async redis(_folder, seed) {
    // What it has answered survives its death.
    const server = await startServer({ appendonly: true, appendfsync: 'always' })
    const proxy = await startProxy(server, seed)
    const onServer = (strike: Fault['strike']): Fault => ({ victim: 'server', strike })
    return {
      url: proxy.url(),
      calmUrl: server.url(),
      faults: {
        'kill server': onServer(async () => {
          await server.kill()
          await server.start()
        }),
        'restart server': onServer(() => server.restart()),
        'freeze server': onServer(async (strike) => {
          server.freeze()
          await sleep(millisecondsOf(PAUSED_MS, strike))
          server.thaw()
        }),
        'pause clients': onServer(async (strike) => {
          const ms = Math.round(millisecondsOf(PAUSED_MS, strike))
          await server.ask('CLIENT', 'PAUSE', String(ms), 'ALL')
          await sleep(ms)
        }),
        'kill clients': onServer(async ({ pick }) => {
          const [list = ''] = await server.ask('CLIENT', 'LIST', 'TYPE', 'normal')
          const ids = [...list.matchAll(/^id=(\d+) .* cmd=(?!client)/gm)].map(([, id = '']) => id)
          const from = Math.floor(pick * ids.length)
          for (const id of ids.slice(from, from + 5)) await server.ask('CLIENT', 'KILL', 'ID', id)
        }),
        'flush scripts': onServer(async () => void (await server.ask('SCRIPT', 'FLUSH'))),
        'cut connections': onServer(async (strike) => {
          proxy.set({ cut: 60, halve: 0.2, sever: 0.005 })
          await sleep(millisecondsOf(PAUSED_MS, strike))
          proxy.calm()
        }),
      },
      async close() {
        await proxy.close()
        await server.remove()
      },
    }
  },

  async postgres() {
    // A crash of the server, unlike one of the machine, keeps what was written without fsync.
    const server = await startPostgres({ synchronous_commit: true })
    const address = await Address.open(server.port)
    const url = new URL(server.url())
    url.port = String(address.port)
    const onServer = (strike: Fault['strike']): Fault => ({ victim: 'server', strike })
    return {
      url: url.href,
      calmUrl: server.url(),
      faults: {
        'kill server': onServer(async () => {
          await server.kill()
          await server.start()
        }),
        'restart server': onServer(async () => {
          await server.stop()
          await server.start()
        }),
        'kill clients': onServer(async ({ pick }) => {
          await server.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'highkiq%' AND pid % 3 = $1",
            [Math.floor(pick * 3)],
          )
        }),
        'cut connections': onServer(async (strike) => {
          const end = performance.now() + millisecondsOf(PAUSED_MS, strike)
          for (; performance.now() < end; await sleep(100)) address.moveTo(server.port)
        }),
      },
      async close() {
        address.close()
        await server.remove()
      },
    }
  },
}
