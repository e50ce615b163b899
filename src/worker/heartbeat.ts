/** Shows this process to the others, and obeys the signals that they send through the store. */

import { hostname } from 'node:os'
import type { ProcessRecord, RunningJob, Signal } from '../store/contract.ts'
import type { Service } from './aspect.ts'
import type { Engine } from './engine.ts'

const BEAT_MS = 10_000
const SHOWN_SECONDS = 60

export interface Shown {
  identity: string
  tag: string
  queues: readonly string[]
  concurrency: number
  startedAt: number
  version: string
}

/** What changes from beat to beat. */
export interface State {
  quiet: boolean
  running: RunningJob[]
}

export class Heartbeat implements Service {
  readonly #engine: Engine
  readonly #shown: Shown
  readonly #state: () => State
  readonly #obey: (signal: Signal) => void
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()

  constructor(engine: Engine, shown: Shown, state: () => State, obey: (signal: Signal) => void) {
    this.#engine = engine
    this.#shown = shown
    this.#state = state
    this.#obey = obey
  }

  async start(): Promise<void> {
    await this.#beat()
    await this.#engine.emit('heartbeat')
    this.#timer = setInterval(() => {
      this.#beating = this.#beat()
    }, BEAT_MS)
  }

  async quiet(): Promise<void> {
    await this.#beat()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#beating
    await this.#engine.store.forget(this.#shown.identity)
  }

  async #beat(): Promise<void> {
    try {
      const { quiet, running } = this.#state()
      const signal = await this.#engine.store.beat(this.#record(running.length, quiet), SHOWN_SECONDS, running)
      await this.#engine.emit('beat')
      if (signal) this.#obey(signal)
    } catch (thrown) {
      this.#engine.report(thrown, { during: 'the heartbeat' })
    }
  }

  #record(busy: number, quiet: boolean): ProcessRecord {
    const { identity, concurrency, queues, startedAt, tag, version } = this.#shown
    const info = {
      hostname: hostname(),
      started_at: startedAt / 1000,
      pid: process.pid,
      tag,
      concurrency,
      queues,
      labels: [],
      identity,
      version,
      embedded: false,
    }
    return {
      identity,
      info: JSON.stringify(info),
      concurrency,
      busy,
      quiet,
      beat: this.#engine.now(),
      rss: Math.round(process.memoryUsage.rss() / 1024),
    }
  }
}
