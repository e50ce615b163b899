import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../../redis/ask.ts'
import { startProxy } from '../../redis/proxy.ts'
import { type RedisServer, startServer } from '../../redis/server.ts'
import { type Environment, FAULT_MS, type Fault, type Figures, millisecondsOf } from './fault.ts'
import { STATISTICS } from './growth.ts'

/** A server that keeps what it has answered, behind a proxy that cuts connections. */
export async function redisEnvironment(_folder: string, seed: number): Promise<Environment> {
  const server = await startServer({ appendonly: true, appendfsync: 'always' })
  const proxy = await startProxy(server, seed)
  const onServer = (inject: Fault['inject']): Fault => ({ target: 'server', inject })
  return {
    url: proxy.url(),
    directUrl: server.url(),
    faults: {
      'kill server': onServer(async () => {
        await server.kill()
        await server.start()
      }),
      'restart server': onServer(() => server.restart()),
      'freeze server': onServer(async (planned) => {
        server.freeze()
        await sleep(millisecondsOf(FAULT_MS, planned))
        server.thaw()
      }),
      'pause clients': onServer(async (planned) => {
        const ms = Math.round(millisecondsOf(FAULT_MS, planned))
        await server.ask('CLIENT', 'PAUSE', String(ms), 'ALL')
        await sleep(ms)
      }),
      'kill clients': onServer(async ({ pick }) => {
        const [list = ''] = await server.ask('CLIENT', 'LIST', 'TYPE', 'normal')
        const ids = [...list.matchAll(/^id=(\d+) .* cmd=(?!client)/gm)].map(([, id = '']) => id)
        const from = Math.floor(pick * ids.length)
        for (const id of ids.slice(from, from + 5)) await server.ask('CLIENT', 'KILL', 'ID', id)
      }),
      'flush scripts': onServer(() => server.ask('SCRIPT', 'FLUSH')),
      'fill memory': onServer(async (planned) => {
        await server.ask('CONFIG', 'SET', 'maxmemory', '1')
        await sleep(millisecondsOf(FAULT_MS, planned))
        await server.ask('CONFIG', 'SET', 'maxmemory', '0')
      }),
      'cut connections': onServer(async (planned) => {
        proxy.set({ cut: 60, halve: 0.2, sever: 0.005 })
        await sleep(millisecondsOf(FAULT_MS, planned))
        proxy.calm()
      }),
    },
    measure: () => figuresOf(server),
    async close() {
      await proxy.close()
      await server.remove()
    },
  }
}

async function figuresOf(server: RedisServer): Promise<Figures> {
  const [info = ''] = await server.ask('INFO')
  const numberAfter = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
  const keys = await server.ask('KEYS', '*')
  const sizes = await ask(server.port, ...keys.map((key) => ['MEMORY', 'USAGE', key]))
  const rows: Record<string, number> = {}
  const megabytes: Record<string, number> = { 'used memory': numberAfter('used_memory') / 1e6 }
  for (const [i, key] of keys.entries()) {
    const kind = kindOf(key)
    rows[kind] = (rows[kind] ?? 0) + 1
    megabytes[kind] = (megabytes[kind] ?? 0) + Number(sizes[i]?.parts[0] ?? 0) / 1e6
  }
  rows['all other keys'] = keys.length - (rows[STATISTICS] ?? 0)
  return { megabytes, rows, handles: { connections: numberAfter('connected_clients') } }
}

/** Returns a key without ids, times, and names of processes. */
function kindOf(key: string): string {
  if (/^[jh]\||^hk:metrics:/.test(key)) return STATISTICS
  return key
    .replace(/[^:]*:\d+:[0-9a-f]{12,}.*/, 'OWNER')
    .replace(/[0-9a-f]{16,}/g, 'ID')
    .replace(/\d+/g, 'N')
}
