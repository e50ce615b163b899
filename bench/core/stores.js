// Where jobs lie: a redis-server of the run's own, without persistence; a PostgreSQL server of its own, which synchronizes each
// commit with the disk, with a new database for each measurement; or a new SQLite file for each.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import { UsageError } from './options.js'

export function openStores() {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  let redis
  let postgres
  let files = 0
  let databases = 0
  return {
    folder,
    /** An empty store for one measurement of a peer. */
    async fresh(peer) {
      if (peer.store === 'sqlite') return new SqliteFile(join(folder, String(files++)))
      if (peer.store === 'postgres') {
        postgres ??= await startPostgres(folder)
        return new PostgresStore(postgres, await postgres.create(`bench${databases++}`))
      }
      redis ??= await startRedis(folder)
      await redis.admin.flushall('SYNC')
      await redis.admin.script('FLUSH', 'SYNC')
      return new RedisStore(redis)
    },
    async close() {
      await redis?.stop()
      await postgres?.stop()
      process.off('exit', remove)
      remove()
    },
  }
}

class RedisStore {
  constructor({ url, admin }) {
    this.url = url
    this.admin = admin
  }

  async cpuMicros() {
    const info = await this.#info('cpu')
    return (info.used_cpu_user + info.used_cpu_sys) * 1e6
  }

  async bytes() {
    return (await this.#info('memory')).used_memory
  }

  async commands() {
    return (await this.#info('stats')).total_commands_processed
  }

  async #info(section) {
    const text = await this.admin.info(section)
    return Object.fromEntries(Array.from(text.matchAll(/^(\w+):([\d.]+)\r?$/gm), ([, name, value]) => [name, +value]))
  }

  close() {}
}

class PostgresStore {
  constructor(server, { url, drop }) {
    this.url = url
    this.close = drop
    this.cpuMicros = async () => server.cpuMicros()
  }
}

class SqliteFile {
  #folder

  constructor(folder) {
    mkdirSync(folder)
    this.#folder = folder
    this.url = join(folder, 'bench.db')
  }

  close() {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function startRedis(folder) {
  const port = await freePort()
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: folder }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  try {
    await once(server, 'spawn')
  } catch (error) {
    throw new UsageError(`redis-server did not start (${error.message}): install redis-server, or name other --peers`)
  }
  const exited = once(server, 'exit')
  const kill = () => server.kill('SIGKILL')
  process.once('exit', kill)
  const admin = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null, retryStrategy: () => 20 })
  admin.on('error', () => {})
  while ((await admin.ping()) !== 'PONG') await sleep(20)
  return {
    url: `redis://127.0.0.1:${port}/0`,
    admin,
    async stop() {
      admin.disconnect()
      server.kill('SIGTERM')
      await exited
      process.off('exit', kill)
    },
  }
}

const POSTGRES_FOLDERS = '/usr/lib/postgresql'

async function startPostgres(folder) {
  const versions = existsSync(POSTGRES_FOLDERS) ? readdirSync(POSTGRES_FOLDERS).map(Number) : []
  if (versions.length === 0)
    throw new UsageError('PostgreSQL is not installed: install postgresql, or name other --peers')
  const programs = join(POSTGRES_FOLDERS, String(Math.max(...versions)), 'bin')
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
  if (status !== 0) throw new UsageError(`initdb failed: ${stderr}`)
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
    if (Date.now() > end) throw new UsageError('PostgreSQL did not start')
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

/** A tick of /proc is a hundredth of a second on all systems. */
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

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}
