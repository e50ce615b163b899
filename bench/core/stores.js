// Where jobs lie: a redis-server of the run's own, without persistence; a PostgreSQL server of its own (postgres.js);
// or a new SQLite file for each measurement.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import { freePort } from './ports.js'
import { PostgresStore, startPostgres } from './postgres.js'

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
  await once(server, 'spawn')
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
