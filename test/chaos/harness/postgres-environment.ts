import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Address } from '../../postgres/address.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { type Environment, FAULT_MS, type Fault, type Figures, millisecondsOf } from './fault.ts'

/** A primary behind an address that cuts connections, and that leads to the standby after a failover. */
export async function postgresEnvironment(): Promise<Environment> {
  // A crash of the server, unlike one of the machine, keeps what was written without fsync.
  let server = await startPostgres({ synchronous_commit: true })
  const [address, directAddress] = [await Address.open(server.port), await Address.open(server.port)]
  const onServer = (inject: Fault['inject']): Fault => ({ target: 'server', inject })
  const urlOf = ({ port }: Address) => {
    const url = new URL(server.url())
    url.port = String(port)
    return url.href
  }
  return {
    url: urlOf(address),
    directUrl: urlOf(directAddress),
    faults: {
      'kill server': onServer(async () => {
        await server.kill()
        await server.start()
      }),
      'restart server': onServer(async () => {
        await server.stop()
        await server.start()
      }),
      'kill clients': onServer(({ pick }) =>
        server.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'highkiq%' AND pid % 3 = $1",
          [Math.floor(pick * 3)],
        ),
      ),
      'cut connections': onServer(async (planned) => {
        const end = performance.now() + millisecondsOf(FAULT_MS, planned)
        for (; performance.now() < end; await sleep(100)) address.moveTo(server.port)
      }),
      'fail over': onServer(async () => {
        const old = server
        const standby = await synchronousStandby(old)
        await old.kill()
        address.moveTo(undefined)
        await standby.query('SELECT pg_promote()')
        server = standby
        for (const one of [address, directAddress]) one.moveTo(standby.port)
        await old.remove()
      }),
    },
    measure: () => figuresOf(server),
    async close() {
      for (const one of [address, directAddress]) one.close()
      await server.remove()
    },
  }
}

async function figuresOf(server: PostgresServer): Promise<Figures> {
  const tables = await server.query(
    "SELECT relname AS name, pg_total_relation_size(relid) / 1e6 AS megabytes FROM pg_stat_user_tables WHERE schemaname = 'highkiq'",
  )
  const names = tables.map(({ name }) => String(name))
  const counts = names.map((name) => `SELECT '${name}' AS name, count(*) AS count FROM highkiq."${name}"`)
  const rows = await server.query(counts.join(' UNION ALL '))
  const [connections] = await server.query(
    "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name LIKE 'highkiq%'",
  )
  const memory = ownMemoryOfConnections(server.pid)
  const sizes = tables.map(({ name, megabytes }) => [String(name), Number(megabytes)] as const)
  return {
    megabytes: {
      'a connection: own memory': memory.reduce((sum, size) => sum + size, 0) / memory.length,
      'all tables': sizes.reduce((sum, [, size]) => sum + size, 0),
      ...Object.fromEntries(sizes),
    },
    rows: Object.fromEntries(rows.map(({ name, count }) => [String(name), Number(count)])),
    handles: { connections: Number(connections?.count) },
  }
}

/** Returns the megabytes that only the server's process for a connection has, of each connection. */
function ownMemoryOfConnections(server: number): number[] {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ')
  return children.flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('127.0.0.1(')) return []
      const [, kilobytes] = /^Private_Dirty:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
      return (Number(kilobytes) * 1024) / 1e6
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

/** Starts a standby that has all that its primary has acknowledged, and that each further commit waits for. */
async function synchronousStandby(primary: PostgresServer): Promise<PostgresServer> {
  const standby = await startPostgres({ synchronous_commit: true }, primary.port)
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await primary.query('SELECT pg_reload_conf()')
  for (;;) {
    const [row] = await primary.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
    if (row) break
    await sleep(20)
  }
  // This commit waits for the standby, and with it all before it.
  await primary.query('CREATE TABLE IF NOT EXISTS public.failovers (n integer)')
  return standby
}
