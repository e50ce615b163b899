import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('worker.js', import.meta.url))
const STOP_MS = 30_000
const STARTS = 10

export interface CrewOptions {
  url: string
  /** For the files in which jobs note what they did. */
  folder: string
  processes: number
  concurrency: number
  /** What they run, called with URL, FOLDER and CONCURRENCY; default: worker.js. */
  program?: string
  /** Further arguments of the program. */
  args?: readonly string[]
  /** Returns further environment variables for a new process. */
  env?: (() => Record<string, string>) | undefined
  /** Gets each process as soon as it works. It can send messages to those of a crew with this. */
  joined?: (child: ChildProcess) => void
}

/** The worker processes of a chaos test. */
export class Crew {
  /** What processes did that they should not. */
  readonly complaints: string[] = []
  /** Those that were killed. */
  killed = 0
  readonly #options: CrewOptions
  #workers: ChildProcess[] = []
  readonly #starting = new Set<ChildProcess>()
  #over = false

  constructor(options: CrewOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.processes }, () => this.#add()))
  }

  /** Kills one, and starts another. Resolves with the pid of the one that was killed when the other works. */
  async replace(random: () => number): Promise<number | undefined> {
    const [worker] = this.#workers.splice(Math.floor(random() * this.#workers.length), 1)
    worker?.kill('SIGKILL')
    this.killed++
    await this.#add()
    return worker?.pid
  }

  get pids(): number[] {
    return this.#workers.flatMap(({ pid }) => pid ?? [])
  }

  /** Chooses one that works. */
  one(random: () => number): ChildProcess | undefined {
    return this.#workers[Math.floor(random() * this.#workers.length)]
  }

  /** Stops one in the middle of whatever it does, and lets it go on. @returns its pid */
  async freeze(ms: number, random: () => number): Promise<number | undefined> {
    const worker = this.one(random)
    worker?.kill('SIGSTOP')
    await sleep(ms)
    worker?.kill('SIGCONT')
    return worker?.pid
  }

  /** One ends in order, and another one begins beside it. */
  async retire(random: () => number): Promise<void> {
    const leaving = this.#workers.splice(Math.floor(random() * this.#workers.length), 1)
    await Promise.all([this.#end(leaving), this.#add()])
  }

  /** Ends them in order. */
  stop(): Promise<void> {
    return this.#end(this.#workers.splice(0))
  }

  async #end(workers: readonly ChildProcess[]): Promise<void> {
    await Promise.all(
      workers.map(async (worker) => {
        const exit = once(worker, 'exit')
        worker.kill('SIGTERM')
        const timer = setTimeout(() => {
          this.complaints.push(`worker ${worker.pid} did not end within ${STOP_MS / 1000} s`)
          worker.kill('SIGKILL')
        }, STOP_MS)
        const [code, signal] = await exit
        clearTimeout(timer)
        if (code !== 0) this.complaints.push(`worker ${worker.pid} did not end in order (${signal ?? code})`)
      }),
    )
  }

  kill(): void {
    this.#over = true
    for (const worker of [...this.#workers.splice(0), ...this.#starting]) worker.kill('SIGKILL')
  }

  /** Resolves when one more works. One that can't begin, because the store is away just then, is started again. */
  async #add(tries = STARTS): Promise<void> {
    const { url, folder, concurrency, program = PROGRAM, args = [], env, joined } = this.#options
    const stderr = openSync(`${folder}/stderr.log`, 'a')
    const worker = spawn(process.execPath, [program, url, folder, String(concurrency), ...args], {
      stdio: joined ? ['ignore', 'pipe', stderr, 'ipc'] : ['ignore', 'pipe', stderr],
      // What it takes back is no news here.
      env: { ...process.env, HIGHKIQ_LOG_LEVEL: 'error', ...env?.() },
    })
    closeSync(stderr)
    this.#starting.add(worker)
    const exit = once(worker, 'exit').then(([code, signal]) => signal ?? code)
    const ready = once(worker.stdout as NodeJS.ReadableStream, 'data').then(() => 'ready')
    const began = (await Promise.race([ready, exit])) === 'ready'
    this.#starting.delete(worker)
    if (this.#over) worker.kill('SIGKILL')
    else if (began) this.#watch(worker, exit)
    else if (tries > 1) await this.#add(tries - 1)
    else throw new Error(`no worker begins:\n${readFileSync(`${folder}/stderr.log`, 'utf8')}`)
  }

  #watch(worker: ChildProcess, exit: Promise<unknown>): void {
    this.#workers.push(worker)
    this.#options.joined?.(worker)
    void exit.then((how) => {
      if (!this.#workers.includes(worker)) return
      this.complaints.push(`worker ${worker.pid} ended by itself (${how}): see stderr.log`)
      this.#workers = this.#workers.filter((one) => one !== worker)
    })
  }
}
