import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { until } from '../engine/bench.ts'
import { pathOf } from '../programs/program.ts'
import { startRun } from '../programs/watched.ts'
import { freePort } from '../redis/port.ts'
import { pgbouncer } from './program.ts'
import { asUser, type PostgresServer, unprivileged } from './server.ts'

/**
 * Starts PgBouncer in front of a server until the end of the test. Returns the URL of a database through it. All clients of
 * a database share `connections` to the server.
 */
export async function startPgBouncer(
  server: PostgresServer,
  mode: 'session' | 'transaction',
  connections: number,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-pgbouncer-'))
  const port = await freePort()
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: connections,
    max_client_conn: 200,
  }
  const path = join(folder, 'pgbouncer.ini')
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const target = `* = host=127.0.0.1 port=${server.port} user=${new URL(server.url()).username}`
  writeFileSync(path, ['[databases]', target, '[pgbouncer]', ...lines, ''].join('\n'))
  const user = unprivileged()
  if (user) for (const file of [folder, path]) chownSync(file, user.uid, user.gid)
  const run = await startRun(folder, [...asUser(), pathOf(pgbouncer) as string, path])
  onTestFinished(async () => {
    if (!run.hasEnded) process.kill(run.pid, 'SIGKILL')
    await run.ended
    rmSync(folder, { recursive: true, force: true })
  })
  const url = new URL(server.url())
  url.port = String(port)
  await until(async () => {
    const client = new pg.Client(url.href)
    client.on('error', () => {})
    const isThere = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    return isThere
  })
  return url.href
}
