/**
 * `--processes N`: a small parent that keeps N workers alive. It loads no jobs and opens no store.
 *
 * What it wants of a child goes over their channel and not as a signal, for systemd and terminals signal the whole group:
 * a child must not take the parent's word for the second TERM.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type Logger, VERSION } from '../index.ts'
import type { Systemd } from './systemd.ts'

/** `recover`: a sibling has died; its jobs need not wait. */
export type ToChild = 'quiet' | 'stop' | 'dump' | 'reopen' | 'recover'
export type ToParent = 'ready' | { megabytes: number }

/** In a child's environment; the value is its place, from 1. */
export const CHILD = 'HIGHKIQ_CHILD'

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 30_000
/** Who lives so long was well: the next one begins at once. */
const WELL_MS = 10_000

export interface SwarmOptions {
  processes: number
  /** Megabytes above which a child is replaced. */
  maxMemory: number | undefined
  tag: string
  log: Logger
  systemd: Systemd | undefined
}

interface Child {
  process: ChildProcess
  place: number
  startedAt: number
  ready: boolean
  /** Another one takes its place. */
  retiring: boolean
}

/** Resolves with the exit code when all children have ended. */
export function runSwarm(options: SwarmOptions): Promise<number> {
  return new Promise((resolve) => new Swarm(options, resolve).begin())
}

class Swarm {
  readonly #options: SwarmOptions
  readonly #resolve: (exitCode: number) => void
  readonly #children = new Set<Child>()
  /** Of a place whose child died soon after it began: the wait before the next, in milliseconds. */
  readonly #waits = new Map<number, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  /** Some child was ready: what fails from now on may pass. */
  #booted = false
  /** All were ready. */
  #announced = false
  #told = false
  /** No child is started any more. */
  #ending = false
  #exitCode = 0

  constructor(options: SwarmOptions, resolve: (exitCode: number) => void) {
    this.#options = options
    this.#resolve = resolve
  }

  begin(): void {
    const stop = () => this.#stop()
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    process.on('SIGTSTP', () => {
      this.#startNoMore()
      this.#tell('quiet')
    })
    process.on('SIGTTIN', () => this.#tell('dump'))
    process.on('SIGUSR2', () => this.#tell('reopen'))
    const { processes, tag } = this.#options
    process.title = `highkiq ${VERSION}${tag ? ` ${tag}` : ''} parent of ${processes}`
    // Whether the app can be loaded at all is seen, and said, once.
    this.#start(1)
  }

  #stop(): void {
    const { log, systemd } = this.#options
    if (this.#told) {
      for (const { process: child } of this.#children) child.kill('SIGKILL')
      process.exit(1)
    }
    this.#told = true
    log.info({}, `stopping ${this.#children.size} processes: again ends at once`)
    systemd?.stopping()
    this.#end()
    this.#tell('stop')
  }

  #startNoMore(): void {
    this.#ending = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  #end(): void {
    this.#startNoMore()
    this.#endIfAlone()
  }

  #endIfAlone(): void {
    if (this.#ending && this.#children.size === 0) this.#resolve(this.#exitCode)
  }

  #start(place: number): void {
    const [main, ...args] = process.argv.slice(1)
    const child: Child = {
      process: spawn(process.execPath, [...process.execArgv, main as string, ...args], {
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        env: { ...process.env, [CHILD]: String(place) },
      }),
      place,
      startedAt: performance.now(),
      ready: false,
      retiring: false,
    }
    this.#children.add(child)
    child.process.on('message', (message: ToParent) => this.#heard(child, message))
    child.process.on('exit', (code, signal) => this.#died(child, code, signal))
    // It could not be started: `exit` does not come then.
    child.process.on('error', (thrown) => {
      this.#options.log.error({ err: thrown }, `worker ${place} can't be started: ${thrown.message}`)
      if (child.process.pid === undefined) this.#died(child, 1, null)
    })
  }

  #heard(child: Child, message: ToParent): void {
    if (message === 'ready') this.#isReady(child)
    else this.#weigh(child, message.megabytes)
  }

  #isReady(child: Child): void {
    child.ready = true
    if (!this.#booted) {
      this.#booted = true
      for (let place = 2; place <= this.#options.processes && !this.#ending; place++) this.#start(place)
    }
    for (const old of this.#children)
      if (old.retiring && old.place === child.place && old !== child) this.#say(old, 'stop')
    const ready = [...this.#children].filter((one) => one.ready && !one.retiring).length
    if (ready < this.#options.processes || this.#announced || this.#ending) return
    this.#announced = true
    this.#options.systemd?.ready(`${ready} processes`)
  }

  /** A child that has grown too large takes no more, ends what runs, and ends when another one has taken its place. */
  #weigh(child: Child, megabytes: number): void {
    const { maxMemory = Number.POSITIVE_INFINITY, log } = this.#options
    if (megabytes <= maxMemory || child.retiring || this.#ending) return
    child.retiring = true
    log.warn(
      { child: child.process.pid, megabytes, maxMemory },
      `worker ${child.place} has grown to ${megabytes} MB: another one takes its place`,
    )
    this.#say(child, 'quiet')
    this.#startAgain(child)
  }

  #died(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    this.#children.delete(child)
    const { log } = this.#options
    if (code !== 0) this.#tell('recover')
    if (this.#ending) {
      if (code !== 0) this.#exitCode = 1
      this.#endIfAlone()
    } else if (!this.#booted) {
      this.#exitCode = code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)
      this.#end()
    } else if (!child.retiring) {
      const how = signal ? `was ended by ${signal}` : `ended with ${code}`
      log.warn({ child: child.process.pid, code, signal }, `worker ${child.place} ${how}: another one takes its place`)
      this.#startAgain(child)
    }
  }

  /** At once after one that was well; else with growing pauses, for what keeps it from starting may take its time. */
  #startAgain({ place, startedAt }: Child): void {
    if (performance.now() - startedAt >= WELL_MS) this.#waits.delete(place)
    const wait = this.#waits.get(place) ?? 0
    this.#waits.set(place, Math.min(wait * 2 || FIRST_WAIT_MS, LONGEST_WAIT_MS))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#start(place)
    }, wait)
    this.#timers.add(timer)
  }

  #tell(message: ToChild): void {
    for (const child of this.#children) this.#say(child, message)
  }

  #say({ process: child }: Child, message: ToChild): void {
    // Who is just ending does not hear it, and need not.
    if (child.connected) child.send(message, () => {})
  }
}
