import { setTimeout as sleep } from 'node:timers/promises'
import type { Faults } from '../redis/faults.ts'
import type { FaultProxy } from '../redis/proxy.ts'
import type { RedisServer, ServerOptions } from '../redis/server.ts'
import type { Crew } from './crew.ts'

const LEASE_MS = 1000
/** What it has answered survives its death. */
const DURABLE: ServerOptions = { appendonly: true, appendfsync: 'always' }

/** Where it strikes, and for how long. */
export interface Scene {
  server: RedisServer
  proxy: FaultProxy
  crew: Crew
  seconds: number
  random: () => number
}

/** Strikes again and again; resolves when it is over, with the number of times. */
type Strike = (scene: Scene) => Promise<number>

export interface RedisFault {
  server?: ServerOptions
  strike: Strike
}

export const REDIS_FAULTS: Record<string, RedisFault> = {
  'connections cut': { strike: network({ cut: 60 }) },
  'packets delayed': { strike: network({ delay: 20, stall: 0.005 }) },
  'messages halved': { strike: network({ halve: 0.3, sever: 0.005 }) },
  'workers killed': { strike: every(250, killWorker) },
  'workers stopped for three leases': { strike: every(200, freezeWorker) },
  'clients killed': { strike: every(50, killClient) },
  'scripts flushed': { strike: every(20, flushScripts) },
  'server killed and started again': { server: DURABLE, strike: every(1500, killServer) },
  'all of it at once': {
    server: DURABLE,
    strike: together(
      network({ cut: 300, delay: 5, stall: 0.001, halve: 0.1, sever: 0.002 }),
      every(1000, killWorker),
      every(1000, freezeWorker),
      every(200, killClient),
      every(100, flushScripts),
      every(3000, killServer),
    ),
  },
}

/** Counts the connections that were made meanwhile; a server that was started anew has not counted all. */
function network(faults: Partial<Faults>): Strike {
  return async ({ server, proxy, seconds }) => {
    const made = async () => {
      const info = await askIfUp(server, 'INFO', 'stats')
      return Number(/total_connections_received:(\d+)/.exec(info)?.[1] ?? 0)
    }
    const before = await made()
    proxy.set(faults)
    await sleep(seconds * 1000)
    proxy.calm()
    return Math.max((await made()) - before, 0)
  }
}

function every(ms: number, strike: (scene: Scene) => Promise<unknown>): Strike {
  return async (scene) => {
    const end = performance.now() + scene.seconds * 1000
    let strikes = 0
    for (; performance.now() < end; strikes++) {
      await sleep(ms * (0.5 + scene.random()))
      await strike(scene)
    }
    return strikes
  }
}

function together(...strikes: Strike[]): Strike {
  return async (scene) => {
    const counts = await Promise.all(strikes.map((strike) => strike(scene)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

async function killWorker({ crew, random }: Scene): Promise<void> {
  await crew.replace(random)
}

async function freezeWorker({ crew, random }: Scene): Promise<void> {
  await crew.freeze(3 * LEASE_MS, random)
}

async function killClient({ server, random }: Scene): Promise<void> {
  const list = await askIfUp(server, 'CLIENT', 'LIST', 'TYPE', 'normal')
  const ids = [...list.matchAll(/^id=(\d+) .* cmd=(?!client)/gm)].map(([, id = '']) => id)
  const id = ids[Math.floor(random() * ids.length)]
  if (id !== undefined) await askIfUp(server, 'CLIENT', 'KILL', 'ID', id)
}

async function flushScripts({ server }: Scene): Promise<void> {
  await askIfUp(server, 'SCRIPT', 'FLUSH')
}

async function killServer({ server }: Scene): Promise<void> {
  await server.kill()
  await server.start()
}

/** A server that is just being killed has no answer. */
async function askIfUp(server: RedisServer, ...command: string[]): Promise<string> {
  const [answer = ''] = await server.ask(...command).catch(() => [])
  return answer
}
