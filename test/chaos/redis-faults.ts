import { setTimeout as sleep } from 'node:timers/promises'
import type { Faults } from '../redis/faults.ts'
import type { FaultProxy } from '../redis/proxy.ts'
import type { RedisServer, ServerOptions } from '../redis/server.ts'
import type { Crew } from './crew.ts'

const LEASE_MS = 1000
/** What it has answered survives its death. */
const DURABLE: ServerOptions = { appendonly: true, appendfsync: 'always' }

/** Where faults are injected, and for how long. */
export interface FaultContext {
  server: RedisServer
  proxy: FaultProxy
  crew: Crew
  seconds: number
  random: () => number
}

/** Injects faults for a number of seconds; resolves with their number when the last one is over. */
type Injection = (context: FaultContext) => Promise<number>

export interface RedisFault {
  server?: ServerOptions
  inject: Injection
}

export const REDIS_FAULTS: Record<string, RedisFault> = {
  'connections cut': { inject: network({ cut: 60 }) },
  'packets delayed': { inject: network({ delay: 20, stall: 0.005 }) },
  'messages halved': { inject: network({ halve: 0.3, sever: 0.005 }) },
  'workers killed': { inject: every(250, killWorker) },
  'workers stopped for three leases': { inject: every(200, freezeWorker) },
  'clients killed': { inject: every(50, killClient) },
  'scripts flushed': { inject: every(20, flushScripts) },
  'server killed and started again': { server: DURABLE, inject: every(1500, killServer) },
  'all of it at once': {
    server: DURABLE,
    inject: allOf(
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
function network(faults: Partial<Faults>): Injection {
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

function every(ms: number, inject: (context: FaultContext) => Promise<unknown>): Injection {
  return async (context) => {
    const end = performance.now() + context.seconds * 1000
    let count = 0
    for (; performance.now() < end; count++) {
      await sleep(ms * (0.5 + context.random()))
      await inject(context)
    }
    return count
  }
}

function allOf(...injections: Injection[]): Injection {
  return async (context) => {
    const counts = await Promise.all(injections.map((inject) => inject(context)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

async function killWorker({ crew, random }: FaultContext): Promise<void> {
  await crew.replace(random)
}

async function freezeWorker({ crew, random }: FaultContext): Promise<void> {
  await crew.freeze(3 * LEASE_MS, random)
}

async function killClient({ server, random }: FaultContext): Promise<void> {
  const list = await askIfUp(server, 'CLIENT', 'LIST', 'TYPE', 'normal')
  const ids = [...list.matchAll(/^id=(\d+) .* cmd=(?!client)/gm)].map(([, id = '']) => id)
  const id = ids[Math.floor(random() * ids.length)]
  if (id !== undefined) await askIfUp(server, 'CLIENT', 'KILL', 'ID', id)
}

async function flushScripts({ server }: FaultContext): Promise<void> {
  await askIfUp(server, 'SCRIPT', 'FLUSH')
}

async function killServer({ server }: FaultContext): Promise<void> {
  await server.kill()
  await server.start()
}

/** A server that is just being killed has no answer. */
async function askIfUp(server: RedisServer, ...command: string[]): Promise<string> {
  const [answer = ''] = await server.ask(...command).catch(() => [])
  return answer
}
