import { execFile, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { pathOf } from '../programs/program.ts'
import { type Run, startRun } from '../programs/watched.ts'
import { freePort } from '../redis/port.ts'
import { postgres } from './program.ts'

const START_SECONDS = 30
/** The name of the superuser, and of the database. */
const NAME = 'highkiq'

/** Settings of postgresql.conf by name. */
export type Settings = Record<string, string | number | boolean>

/**
 * A PostgreSQL server of one test, on 127.0.0.1, with its data in a folder of its own. It ends together with the process
 * that started it; `remove` ends it sooner.
 */
export class PostgresServer {
  readonly port: number
  readonly folder: string
  readonly #program: string
  readonly #settings: Settings
  #run: Run | undefined

  constructor(program: string, port: number, settings: Settings) {
    this.#program = program
    this.port = port
    this.#settings = settings
    this.folder = mkdtempSync(join(tmpdir(), 'highkiq-postgres-'))
  }

  get pid(): number {
    if (!this.#run) throw new Error('the PostgreSQL server does not run')
    return this.#run.pid
  }

  url(query = '', database = 'postgres'): string {
    return `postgres://${NAME}@127.0.0.1:${this.port}/${database}${query}`
  }

  /** Makes the data folder. */
  initialize(): void {
    const user = unprivileged()
    if (user) chownSync(this.folder, user.uid, user.gid)
    const initdb = join(dirname(this.#program), 'initdb')
    const options = ['--username', NAME, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C', '--no-sync']
    const [command, ...args] = [...asUser(), initdb, '--pgdata', this.#data, ...options] as [string, ...string[]]
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: this.folder })
    if (status !== 0) throw new Error(`initdb failed: ${stdout}${stderr}`)
  }

  /** Makes the data folder of a standby, which receives the changes of the server on this port. */
  async copy(port: number): Promise<void> {
    const user = unprivileged()
    if (user) chownSync(this.folder, user.uid, user.gid)
    const basebackup = join(dirname(this.#program), 'pg_basebackup')
    const from = ['--host', '127.0.0.1', '--port', String(port), '--username', NAME]
    const options = ['--write-recovery-conf', '--checkpoint', 'fast', '--no-sync', '--pgdata', this.#data]
    const [command, ...args] = [...asUser(), basebackup, ...from, ...options] as [string, ...string[]]
    // The test itself may be on the way to that server.
    await promisify(execFile)(command, args, { cwd: this.folder })
  }

  /** Starts a server that is not running. Resolves when it answers. */
  async start(): Promise<void> {
    const all = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.folder,
      ...this.#settings,
    }
    const settings = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const run = await startRun(this.folder, [...asUser(), this.#program, '-D', this.#data, ...settings])
    this.#run?.watchdog.kill('SIGKILL')
    this.#run = run
    for (const end = performance.now() + START_SECONDS * 1000; ; await sleep(20)) {
      if (run.hasEnded || performance.now() > end)
        throw new Error(`the PostgreSQL server did not start:\n${this.log()}`)
      const answer = await this.query('SHOW unix_socket_directories').catch(() => [])
      // Another program may have got the port first.
      if (answer[0]?.unix_socket_directories === this.folder) return
    }
  }

  /** Opens a connection. */
  async connect(database?: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url('', database), connectionTimeoutMillis: 2000 })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** Runs a statement on a connection of its own. */
  async query(sql: string, values: unknown[] = [], database?: string): Promise<Record<string, unknown>[]> {
    const client = await this.connect(database)
    try {
      return (await client.query(sql, values)).rows
    } finally {
      await client.end()
    }
  }

  /** Kills it, like a crash. Resolves when it has ended. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Stops it at once and in order, with all connections. */
  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  /** Ends it and removes its folder. */
  async remove(): Promise<void> {
    await this.kill()
    const watchdog = this.#run?.watchdog
    if (watchdog && watchdog.exitCode === null) {
      const gone = new Promise((resolve) => watchdog.once('close', resolve))
      watchdog.stdin?.end()
      await gone
    }
    rmSync(this.folder, { recursive: true, force: true })
  }

  log(): string {
    const path = join(this.folder, 'log')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  get #data(): string {
    return join(this.folder, 'data')
  }

  async #end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    if (!this.#run || this.#run.hasEnded) return
    try {
      process.kill(this.#run.pid, signal)
    } catch (error) {
      // It has ended by itself, and the event has not arrived yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await this.#run.ended
  }
}

/**
 * Starts a server on a free port. Nothing is synchronized with the disk unless `settings` say so. `from` is the port of
 * another server: then this one is its standby.
 */
export async function startPostgres(settings: Settings = {}, from?: number): Promise<PostgresServer> {
  const program = pathOf(postgres)
  if (!program) throw new Error('PostgreSQL is not installed: a suite that needs it says onPostgres()')
  const all = { fsync: false, full_page_writes: false, max_connections: 300, shared_buffers: '64MB', ...settings }
  for (let tries = 1; ; tries++) {
    const server = new PostgresServer(program, await freePort(), all)
    try {
      if (from === undefined) server.initialize()
      else await server.copy(from)
      await server.start()
      return server
    } catch (error) {
      const log = server.log()
      await server.remove()
      if (tries === 5 || !log.includes('Address already in use')) throw error
    }
  }
}

let lasting: Promise<PostgresServer> | undefined
let schemas = 0

/** The server that all test files of a process share. */
export function sharedPostgres(): Promise<PostgresServer> {
  lasting ??= startPostgres()
  return lasting
}

/** Returns the name of a schema that no other test has. */
export function newSchema(): string {
  return `test_${process.pid}_${++schemas}`
}

/** PostgreSQL and PgBouncer refuse to run as root: then they run as the user that Debian's package has made. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (option: string) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

/** Returns the beginning of a command that runs as `unprivileged`. */
export function asUser(): string[] {
  const user = unprivileged()
  return user ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []
}
