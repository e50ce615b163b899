import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chance } from '../conformance/chance.js'
import { BUSY_CODE } from './seed-workers.js'

/** The processes of a storm, and how many of them are killed meanwhile. */
export const PROCESSES = 4
export const KILLS = 4
const MOST_MS_BETWEEN_KILLS = 300
/** Added to a seed, for other random numbers than those of the storm. */
const FAR = 2 ** 31

/** What a seed asks for. All seeds of a crew ask for the same in the same order. */
interface Request {
  seed: SeedCrew
  what: 'start' | 'kill' | 'kill all'
  /** The arguments of the program for this seed: one list for each process that starts. */
  args: readonly (readonly string[])[]
  resolve: () => void
  reject: (thrown: unknown) => void
}

/**
 * Processes that work for several seeds at the same time, each on its own store: to start a process costs more than all that
 * it does for one seed. Processes are started or killed for all seeds at once, as soon as each of them asks for it.
 */
export class SharedCrew {
  readonly #program: string
  readonly #random: () => number
  readonly #fail: (what: string) => void
  readonly #seeds = new Set<SeedCrew>()
  readonly #children: ChildProcess[] = []
  /** The seeds for which a process that runs has not said that it works. */
  readonly #starting = new Map<ChildProcess, Set<number>>()
  #requests: Request[] = []
  /** How many processes ended, and were started again, because their stores did not answer in time. */
  busyStarts = 0

  /**
   * `program`: a file of this folder that runs `seed-workers.js`. `random` chooses the processes that are killed. `fail` is
   * called for a process that ends by itself.
   */
  constructor(program: string, random: () => number, fail: (what: string) => void) {
    this.#program = fileURLToPath(new URL(program, import.meta.url))
    this.#random = random
    this.#fail = fail
  }

  /** Adds a seed; all join before the first request. */
  join(seed: number): SeedCrew {
    const member: SeedCrew = new SeedCrew(seed, (request) => {
      // One that was stuck may ask later.
      if (!this.#seeds.has(member)) return
      this.#requests.push(request)
      this.#perform()
    })
    this.#seeds.add(member)
    return member
  }

  /** Removes a seed that needs the processes no longer. The last one ends them. */
  leave(seed: SeedCrew): void {
    this.#seeds.delete(seed)
    if (this.#seeds.size === 0) this.end()
    else this.#perform()
  }

  /** Returns the seeds for which a process does not work yet. */
  get notReady(): number[] {
    return [...new Set(Array.from(this.#starting.values()).flatMap((seeds) => [...seeds]))]
  }

  end(): void {
    for (const child of this.#children.splice(0)) child.kill('SIGKILL')
  }

  #perform(): void {
    const [first] = this.#requests
    if (!first || this.#requests.length < this.#seeds.size) return
    const requests = this.#requests
    this.#requests = []
    this.#work(first, requests).then(
      () => {
        for (const { resolve } of requests) resolve()
      },
      (thrown) => {
        for (const { reject } of requests) reject(thrown)
      },
    )
  }

  async #work({ what, args }: Request, requests: readonly Request[]): Promise<void> {
    if (what === 'start') await Promise.all(args.map((_, n) => this.#start(requests, n)))
    else if (what === 'kill') {
      await sleep(this.#random() * MOST_MS_BETWEEN_KILLS)
      await end(this.#children.splice(Math.floor(this.#random() * this.#children.length), 1))
    } else await end(this.#children.splice(0))
  }

  /** Starts the n-th process that the seeds ask for. */
  async #start(requests: readonly Request[], n: number): Promise<void> {
    const all = JSON.stringify(requests.map(({ seed, args }) => ({ args: args[n], random: seed.nextRandom() })))
    while (!(await this.#spawn(requests, all))) {}
  }

  /** Resolves when a process works, with false if its stores were too busy to start. */
  async #spawn(requests: readonly Request[], all: string): Promise<boolean> {
    const child = spawn(process.execPath, [this.#program, all], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#children.push(child)
    const left = new Set(requests.map(({ seed }) => seed.seed))
    this.#starting.set(child, left)
    return new Promise<boolean>((resolve, reject) => {
      linesIn(child.stdout, (line) => {
        const [, n = '', text = ''] = /^(\d+) (.*)$/.exec(line) ?? []
        if (text !== 'ready') requests[Number(n)]?.seed.onOutput(text)
        else {
          left.delete((requests[Number(n)] as Request).seed.seed)
          if (left.size === 0) resolve(true)
        }
      })
      child.once('exit', (code) => {
        this.#starting.delete(child)
        // A process that is killed is not in the list any more.
        const at = this.#children.indexOf(child)
        if (at < 0) return
        this.#children.splice(at, 1)
        if (code === BUSY_CODE) {
          this.busyStarts++
          return resolve(false)
        }
        this.#fail(`a process of ${this.#program} ended by itself with ${code}`)
        reject(new Error(`${this.#program} did not start`))
      })
    })
  }
}

/** Kills processes. Resolves when all that they wrote has been read. */
async function end(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    }),
  )
}

/** The processes of a crew as one seed sees them. */
export class SeedCrew {
  readonly seed: number
  readonly #ask: (request: Request) => void
  readonly #random: () => number
  /** Gets the lines that the processes write for this seed. */
  onOutput: (line: string) => void = () => {}
  /** Whether it has asked for processes, or for their end, and has no answer yet. */
  isWaiting = false

  constructor(seed: number, ask: (request: Request) => void) {
    this.seed = seed
    this.#ask = ask
    this.#random = chance(seed + FAR)
  }

  /** Returns the seed of one process: what it does at random. */
  nextRandom(): number {
    return Math.floor(this.#random() * 2 ** 32)
  }

  /** Starts the processes of a storm, each with these arguments. Resolves when all work. */
  start(...args: string[]): Promise<void> {
    return this.#request(
      'start',
      Array.from({ length: PROCESSES }, () => args),
    )
  }

  /** Kills processes at random moments, and starts another one with these arguments in the place of each. */
  async killSome(...args: string[]): Promise<void> {
    for (let n = 0; n < KILLS; n++) {
      await this.#request('kill')
      await this.#request('start', [args])
    }
  }

  killAll(): Promise<void> {
    return this.#request('kill all')
  }

  async #request(what: Request['what'], args: Request['args'] = []): Promise<void> {
    this.isWaiting = true
    try {
      await new Promise<void>((resolve, reject) => this.#ask({ seed: this, what, args, resolve, reject }))
    } finally {
      this.isWaiting = false
    }
  }
}

/** Calls `onOutput` with each whole line: a process that is killed may write a part of one. */
function linesIn(stream: Readable, onOutput: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    for (const line of lines) onOutput(line)
  })
}
