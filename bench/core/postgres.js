// A PostgreSQL server of the run's own, which synchronizes each commit with the disk, with a new database for each measurement.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './ports.js'
import { postgresPrograms } from './programs.js'

export class PostgresStore {
  constructor(server, { url, drop }) {
    this.url = url
    this.close = drop
    this.cpuMicros = async () => server.cpuMicros()
  }
}

export async function startPostgres(folder) {
  const programs = postgresPrograms()
  const data = join(folder, 'postgres')
  mkdirSync(data)
  chmodSync(folder, 0o755)
  // PostgreSQL refuses to run as root.
  const as = process.getuid() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  if (as.length > 0) {
    const id = (option) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout)
    chownSync(data, id('-u'), id('-g'))
  }
  const [first, ...made] = [
    ...as,
    join(programs, 'initdb'),
    '-D',
    data,
    '-U',
    'bench',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
  ]
  const { status, stderr } = spawnSync(first, made, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: data,
    max_connections: 300,
    shared_buffers: '256MB',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program, ...args] = [...as, join(programs, 'postgres'), '-D', data, ...options]
  const server = spawn(program, args, { stdio: 'ignore' })
  const exited = once(server, 'exit')
  const kill = () => server.kill('SIGKILL')
  process.once('exit', kill)
  const url = (database) => `postgres://bench@127.0.0.1:${port}/${database}`
  const { default: pg } = await import('pg')
  const run = async (sql) => {
    const client = new pg.Client({ connectionString: url('postgres') })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  for (const end = Date.now() + 20_000; ; await sleep(50)) {
    const answered = await run('SELECT 1').then(
      () => true,
      () => false,
    )
    if (answered) break
    if (Date.now() > end) throw new Error('PostgreSQL did not start')
  }
  return {
    async create(name) {
      await run(`CREATE DATABASE ${name}`)
      return { url: url(name), drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`) }
    },
    /** The CPU time of the server and of its processes, those that have ended included. */
    cpuMicros: () => cpuTicks(server.pid) * TICK_MICROS,
    async stop() {
      server.kill('SIGINT')
      await exited
      process.off('exit', kill)
    },
  }
}

/** The tick of /proc: USER_HZ is 100 on Linux. */
const TICK_MICROS = 10_000

function cpuTicks(pid) {
  const [utime, stime, endedUtime, endedStime] = statOf(pid)
  let sum = utime + stime + endedUtime + endedStime
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const [own, system, , , parent] = statOf(name)
      if (parent === pid) sum += own + system
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum
}

function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return [...fields.slice(11, 15), fields[1]]
}
