/**
 * `--processes N`: a small parent that keeps N workers alive. It loads no jobs and opens no store.
 *
 * It sends messages to a child instead of signals: systemd and terminals signal the whole group, and a child must not
 * take the parent's signal for a second SIGTERM.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type Logger, VERSION } from '../index.ts'
import { signalCopies } from '../job/signal-copies.ts'
import type { Systemd } from './systemd.ts'

/** `rescue` asks to rescue the jobs of a sibling that died. */
export type ToChild = 'quiet' | 'stop' | 'dump' | 'reopen' | 'rescue'
export type ToParent = 'ready' | { megabytes: number }

/** Environment variable of a child; its value is the child's number, from 1. */
export const CHILD = 'HIGHKIQ_CHILD'

const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 30_000
/** A child that ran this long is replaced without a delay. */
const STABLE_MS = 10_000

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
  number: number
  startedAt: number
  ready: boolean
  /** Whether it is being replaced. */
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
  /** Milliseconds before a child that died early is started again, by its number. */
  readonly #delays = new Map<number, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #isCopy = signalCopies()
  /** Whether any child was ever ready: the app can be loaded, so later failures may be temporary. */
  #booted = false
  /** Whether systemd was notified that all children are ready. */
  #announced = false
  #stopRequested = false
  /** Whether no more children are started. */
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
      this.#broadcast('quiet')
    })
    process.on('SIGTTIN', () => this.#broadcast('dump'))
    process.on('SIGUSR2', () => this.#broadcast('reopen'))
    const { processes, tag } = this.#options
    process.title = `highkiq ${VERSION}${tag ? ` ${tag}` : ''} parent of ${processes}`
    // Start one child first, so that an app that can't be loaded is reported once.
    this.#start(1)
  }

  #stop(): void {
    if (this.#isCopy()) return
    const { log, systemd } = this.#options
    if (this.#stopRequested) {
      for (const { process: child } of this.#children) child.kill('SIGKILL')
      process.exit(1)
    }
    this.#stopRequested = true
    log.info({}, `stopping ${this.#children.size} processes; a second signal kills them`)
    systemd?.stopping()
    this.#end()
    this.#broadcast('stop')
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

  #start(number: number): void {
    const [main, ...args] = process.argv.slice(1)
    const child: Child = {
      process: spawn(process.execPath, [...process.execArgv, main as string, ...args], {
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        env: { ...process.env, [CHILD]: String(number) },
      }),
      number,
      startedAt: performance.now(),
      ready: false,
      retiring: false,
    }
    this.#children.add(child)
    child.process.on('message', (message: ToParent) => this.#receive(child, message))
    child.process.on('exit', (code, signal) => this.#died(child, code, signal))
    // A process that could not be started emits no `exit`.
    child.process.on('error', (thrown) => {
      this.#options.log.error({ err: thrown }, `worker ${number} can't be started: ${thrown.message}`)
      if (child.process.pid === undefined) this.#died(child, 1, null)
    })
  }

  #receive(child: Child, message: ToParent): void {
    if (message === 'ready') this.#isReady(child)
    else this.#checkMemory(child, message.megabytes)
  }

  #isReady(child: Child): void {
    child.ready = true
    if (!this.#booted) {
      this.#booted = true
      for (let number = 2; number <= this.#options.processes && !this.#ending; number++) this.#start(number)
    }
    for (const old of this.#children)
      if (old.retiring && old.number === child.number && old !== child) this.#send(old, 'stop')
    const ready = [...this.#children].filter((one) => one.ready && !one.retiring).length
    if (ready < this.#options.processes || this.#announced || this.#ending) return
    this.#announced = true
    this.#options.systemd?.ready(`${ready} processes`)
  }

  /** Replaces a child above `maxMemory`. It fetches no more jobs, and stops when its successor is ready. */
  #checkMemory(child: Child, megabytes: number): void {
    const { maxMemory = Number.POSITIVE_INFINITY, log } = this.#options
    if (megabytes <= maxMemory || child.retiring || this.#ending) return
    child.retiring = true
    log.warn(
      { child: child.process.pid, megabytes, maxMemory },
      `worker ${child.number} has grown to ${megabytes} MB and is being replaced`,
    )
    this.#send(child, 'quiet')
    this.#restart(child)
  }

  #died(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    this.#children.delete(child)
    const { log } = this.#options
    if (code !== 0) this.#broadcast('rescue')
    if (this.#ending) {
      if (code !== 0) this.#exitCode = 1
      this.#endIfAlone()
    } else if (!this.#booted) {
      this.#exitCode = code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)
      this.#end()
    } else if (!child.retiring) {
      const how = signal ? `was killed by ${signal}` : `exited with code ${code}`
      log.warn({ child: child.process.pid, code, signal }, `worker ${child.number} ${how} and is being replaced`)
      this.#restart(child)
    }
  }

  /** Starts a child again: at once if it ran for a while, else after a growing delay. */
  #restart({ number, startedAt }: Child): void {
    if (performance.now() - startedAt >= STABLE_MS) this.#delays.delete(number)
    const delay = this.#delays.get(number) ?? 0
    this.#delays.set(number, Math.min(delay * 2 || FIRST_DELAY_MS, LONGEST_DELAY_MS))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#start(number)
    }, delay)
    this.#timers.add(timer)
  }

  #broadcast(message: ToChild): void {
    for (const child of this.#children) this.#send(child, message)
  }

  #send({ process: child }: Child, message: ToChild): void {
    // An error is ignored: the child is ending already.
    if (child.connected) child.send(message, () => {})
  }
}
