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

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)

export function openStores() {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  /** The servers that were started: the second and later ones are for shards. */
  const redis = []
  let postgres
  let files = 0
  let databases = 0
  return {
    folder,
    /** An empty store for one measurement of a peer; on Redis it may have several shards. */
    async fresh(peer, shards = 1) {
      if (peer.store === 'sqlite') return new SqliteFile(join(folder, String(files++)))
      if (peer.store === 'postgres') {
        postgres ??= await startPostgres(folder)
        return new PostgresStore(postgres, await postgres.create(`bench${databases++}`))
      }
      while (redis.length < shards) redis.push(await startRedis(folder))
      const servers = redis.slice(0, shards)
      for (const { admin } of servers) {
        await admin.flushall('SYNC')
        await admin.script('FLUSH', 'SYNC')
      }
      return new RedisStore(servers)
    },
    async close() {
      for (const server of redis) await server.stop()
      await postgres?.stop()
      process.off('exit', remove)
      remove()
    },
  }
}

class RedisStore {
  #admins

  constructor(servers) {
    this.url = servers.map(({ url }) => url).join(' ')
    this.#admins = servers.map(({ admin }) => admin)
  }

  /** The CPU time of each server. */
  async cpuOfEach() {
    const all = await this.#infos('cpu')
    return all.map(({ used_cpu_user, used_cpu_sys }) => (used_cpu_user + used_cpu_sys) * 1e6)
  }

  async cpuMicros() {
    return sum(await this.cpuOfEach())
  }

  async bytes() {
    const all = await this.#infos('memory')
    return sum(all.map(({ used_memory }) => used_memory))
  }

  async commands() {
    const all = await this.#infos('stats')
    return sum(all.map(({ total_commands_processed }) => total_commands_processed))
  }

  async #infos(section) {
    const texts = await Promise.all(this.#admins.map((admin) => admin.info(section)))
    return texts.map((text) =>
      Object.fromEntries(Array.from(text.matchAll(/^(\w+):([\d.]+)\r?$/gm), ([, name, value]) => [name, +value])),
    )
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
