import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathOf } from '../programs/program.ts'
import { type Run, startRun } from '../programs/watched.ts'
import { stringsOf } from './ask.ts'
import { freePort } from './port.ts'
import { redis } from './program.ts'

/** Loading a large file takes this long at most. */
const START_SECONDS = 15

/** Directives of redis.conf by name; `true` means `yes`. Nothing is kept on disk unless `appendonly` is set. */
export type ServerOptions = { appendonly?: boolean; maxmemory?: string; databases?: number } & {
  [directive: string]: string | number | boolean | undefined
}

/**
 * A Redis server of one test, on 127.0.0.1. It ends together with the process that started it, in whatever way that
 * ends; `remove` ends it sooner.
 */
export class RedisServer {
  readonly port: number
  /** The folder of its append-only file and its log. */
  readonly folder: string
  readonly #program: string
  readonly #options: ServerOptions
  readonly #sentinel: readonly string[] | undefined
  #run: Run | undefined

  /** `sentinel`: the process is a Sentinel with this configuration. */
  constructor(program: string, port: number, options: ServerOptions, sentinel?: readonly string[]) {
    this.#program = program
    this.port = port
    this.#options = options
    this.#sentinel = sentinel
    this.folder = mkdtempSync(join(tmpdir(), 'highkiq-redis-'))
  }

  /** The pid of the running process. */
  get pid(): number {
    if (!this.#run) throw new Error('the Redis server does not run')
    return this.#run.pid
  }

  url(database = 0): string {
    return `redis://127.0.0.1:${this.port}/${database}`
  }

  /** Sends one command. Returns the strings of the reply. */
  async ask(...command: string[]): Promise<string[]> {
    const [reply = []] = await stringsOf(this.port, command)
    return reply
  }

  /** Starts a server that is not running. Resolves when it answers. */
  async start(): Promise<void> {
    const run = await startRun(this.folder, [this.#program, ...this.#directives()])
    // The process before watches only the folder, which this one watches now.
    this.#run?.watchdog.kill('SIGKILL')
    this.#run = run
    const answers = async () => {
      const [, info = []] = await stringsOf(this.port, ['PING'], ['INFO', 'server'])
      // Another program may have got the port first.
      return info.join().includes(`process_id:${run.pid}\r`)
    }
    for (const end = performance.now() + START_SECONDS * 1000; ; await sleep(5)) {
      if (run.hasEnded || performance.now() > end) throw new Error(`the Redis server did not start:\n${this.log()}`)
      if (await answers().catch(() => false)) return
    }
  }

  /** Stops it in order, so that it writes its file. Resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Kills it, like a crash. Resolves when it has ended. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Starts it again on the same port and folder; stops it first if it runs. */
  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Freezes it: it listens, but does not answer. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP')
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT')
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

  /** Returns its log. */
  log(): string {
    const path = join(this.folder, 'log')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.#run || this.#run.hasEnded) return
    try {
      // A frozen process gets no other signal; SIGKILL works.
      if (signal === 'SIGTERM') this.thaw()
      process.kill(this.#run.pid, signal)
    } catch (error) {
      // It has ended by itself, and the event has not arrived yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await this.#run.ended
  }

  #directives(): string[] {
    if (this.#sentinel) {
      // A Sentinel rewrites its file to keep its state there.
      const file = join(this.folder, 'sentinel.conf')
      const lines = [`port ${this.port}`, 'bind 127.0.0.1', `dir ${this.folder}`, ...this.#sentinel, '']
      if (!existsSync(file)) writeFileSync(file, lines.join('\n'))
      return [file, '--sentinel']
    }
    const all = { port: this.port, bind: '127.0.0.1', dir: this.folder, save: '', ...this.#options }
    return Object.entries(all).flatMap(([name, value]) => {
      if (value === undefined) return []
      return [`--${name}`, value === true ? 'yes' : value === false ? 'no' : String(value)]
    })
  }
}

/** Starts a Sentinel on a free port, with these lines of configuration. */
export function startSentinel(lines: readonly string[]): Promise<RedisServer> {
  return startServer({}, lines)
}

/** Starts a server on a free port, in a folder of its own. */
export async function startServer(options: ServerOptions = {}, sentinel?: readonly string[]): Promise<RedisServer> {
  const program = pathOf(redis)
  if (!program) throw new Error('redis-server is not installed: a suite that needs it says onRedis()')
  for (let tries = 1; ; tries++) {
    const server = new RedisServer(program, await freePort(), options, sentinel)
    try {
      await server.start()
      return server
    } catch (error) {
      const log = server.log()
      await server.remove()
      if (tries === 5 || !log.includes('Address already in use')) throw error
    }
  }
}

let lasting: Promise<RedisServer> | undefined

/** The server that all test files of a process share, one after the other: it is empty and knows no script. */
export async function emptyServer(): Promise<RedisServer> {
  lasting ??= startServer({ databases: 10_000 })
  const server = await lasting
  await stringsOf(server.port, ['FLUSHALL'], ['SCRIPT', 'FLUSH'])
  return server
}
