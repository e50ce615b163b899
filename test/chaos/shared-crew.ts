import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** What a seed asks for. All seeds of a crew ask for the same in the same order. */
interface Request {
  seed: SeedCrew
  what: 'start' | 'kill' | 'kill all'
  /** The arguments of the program for this seed. */
  args: readonly string[]
  resolve: () => void
  reject: (thrown: unknown) => void
}

/**
 * Processes that work for several seeds at the same time, each on its own store: to start a process costs more than all that
 * it does for one seed. A process is started or killed for all seeds at once, as soon as each of them asks for it.
 */
export class SharedCrew {
  readonly #program: string
  readonly #seeds = new Set<SeedCrew>()
  readonly #children: ChildProcess[] = []
  #requests: Request[] = []

  /** `program` runs `seed-workers.js`. */
  constructor(program: string) {
    this.#program = program
  }

  /** Adds a seed; all join before the first request. */
  join(): SeedCrew {
    const seed = new SeedCrew((request) => {
      this.#requests.push(request)
      this.#perform()
    })
    this.#seeds.add(seed)
    return seed
  }

  /** Removes a seed that needs the processes no longer. The last one ends them. */
  leave(seed: SeedCrew): void {
    this.#seeds.delete(seed)
    if (this.#seeds.size === 0) this.end()
    else this.#perform()
  }

  end(): void {
    for (const child of this.#children.splice(0)) child.kill('SIGKILL')
  }

  #perform(): void {
    const [first] = this.#requests
    if (!first || this.#requests.length < this.#seeds.size) return
    const requests = this.#requests
    this.#requests = []
    const work =
      first.what === 'start' ? this.#start(requests) : this.#kill(first.what === 'kill' ? 1 : Number.POSITIVE_INFINITY)
    work.then(
      () => {
        for (const { resolve } of requests) resolve()
      },
      (thrown) => {
        for (const { reject } of requests) reject(thrown)
      },
    )
  }

  async #start(requests: readonly Request[]): Promise<void> {
    const all = JSON.stringify(requests.map(({ args }) => args))
    const child = spawn(process.execPath, [this.#program, all], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#children.push(child)
    let left = requests.length
    await new Promise<void>((resolve, reject) => {
      linesIn(child.stdout, (line) => {
        const [, n = '', text = ''] = /^(\d+) (.*)$/.exec(line) ?? []
        if (text !== 'ready') requests[Number(n)]?.seed.heard(text)
        else if (--left === 0) resolve()
      })
      child.once('exit', (code) => reject(new Error(`${this.#program} ended with ${code}`)))
    })
  }

  /** Kills the oldest processes. */
  async #kill(most: number): Promise<void> {
    await Promise.all(
      this.#children.splice(0, most).map(async (child) => {
        const ended = once(child, 'close')
        child.kill('SIGKILL')
        await ended
      }),
    )
  }
}

/** The processes of a crew as one seed sees them. */
export class SeedCrew {
  readonly #ask: (request: Request) => void
  /** Gets the lines that the processes write for this seed. */
  heard: (line: string) => void = () => {}

  constructor(ask: (request: Request) => void) {
    this.#ask = ask
  }

  /** Resolves when one more process works. */
  start(...args: readonly string[]): Promise<void> {
    return this.#request('start', args)
  }

  /** Kills the oldest process. */
  kill(): Promise<void> {
    return this.#request('kill')
  }

  killAll(): Promise<void> {
    return this.#request('kill all')
  }

  #request(what: Request['what'], args: readonly string[] = []): Promise<void> {
    return new Promise((resolve, reject) => this.#ask({ seed: this, what, args, resolve, reject }))
  }
}

/** Calls `heard` with each whole line: a process that is killed may write a part of one. */
function linesIn(stream: Readable, heard: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    for (const line of lines) heard(line)
  })
}
