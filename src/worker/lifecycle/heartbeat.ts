/** Shows this process to the others, and obeys the signals that they send through the store. */

import { hostname } from 'node:os'
import type { ProcessRecord, RunningJob, Signal } from '../../store/contract.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Capsule } from './capsules.ts'

const BEAT_MS = 10_000
const SHOWN_SECONDS = 60
/** A store that answers later than this, so many beats in a row, slows every job down. */
const SLOW_MS = 50
const SLOW_BEATS = 5

export interface Shown {
  identity: string
  tag: string
  labels: readonly string[]
  capsules: readonly Capsule[]
  /** Jobs at the same time, in all capsules. */
  concurrency: number
  /** Batches of ordered queues at the same time. */
  orderedConcurrency: number
  startedAt: number
  version: string
  /** The queues that the app's jobs name. */
  defined: readonly string[]
}

/** What changes from beat to beat. */
export interface State {
  quiet: boolean
  running: RunningJob[]
}

export class Heartbeat implements BackgroundService {
  readonly #engine: Engine
  readonly #shown: Shown
  readonly #state: () => State
  readonly #obey: (signal: Signal) => void
  /** Inside a program of another purpose, which is not to be stopped from afar. */
  embedded = true
  #info = ''
  /** In a row. */
  #slowBeats = 0
  /** The last beat was answered: what the store knows of us it does not know from one whose answer was lost. */
  #wasAnswered = false
  #timer: NodeJS.Timeout | undefined
  /** The beat that is under way, and the one that follows it. */
  #beating: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  /** The handlers that hear of the last one. */
  #telling: Promise<void> = Promise.resolve()

  constructor(engine: Engine, shown: Shown, state: () => State, obey: (signal: Signal) => void) {
    this.#engine = engine
    this.#shown = shown
    this.#state = state
    this.#obey = obey
  }

  async start(): Promise<void> {
    this.#info = infoOf(this.#shown, this.embedded)
    await this.#beat()
    await this.#telling
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS)
  }

  async quiet(): Promise<void> {
    await this.#beat()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#next
    await this.#beating
    await this.#telling
    await this.#engine.store.workers.removeProcess(this.#shown.identity)
  }

  /** One at a time, or an old state might be shown last: what is due while a beat is under way follows it, once. */
  #beat(): Promise<void> {
    this.#next ??= this.#beating.then(() => {
      this.#next = undefined
      this.#beating = this.#show()
      return this.#beating
    })
    return this.#next
  }

  /** Handlers that take their time hold up no beat. */
  async #show(): Promise<void> {
    const { store, report } = this.#engine
    try {
      const { quiet, running } = this.#state()
      const { signal, known, rtt } = await store.workers.heartbeat(
        this.#record(running.length, quiet),
        SHOWN_SECONDS,
        running,
      )
      this.#watch(rtt)
      this.#telling = this.#tell(known && this.#wasAnswered)
      this.#wasAnswered = true
      if (signal) this.#obey(signal)
    } catch (thrown) {
      this.#wasAnswered = false
      report(thrown, { during: 'the heartbeat' })
    }
  }

  /** Never rejects. `known`: false the first time, when the store has lost us, and after a beat that may have been lost. */
  async #tell(known: boolean): Promise<void> {
    const { emit } = this.#engine
    if (!known) await emit('heartbeat')
    await emit('beat')
  }

  #watch(rtt: number | null): void {
    this.#slowBeats = rtt !== null && rtt > SLOW_MS ? this.#slowBeats + 1 : 0
    if (this.#slowBeats < SLOW_BEATS) return
    this.#slowBeats = 0
    this.#engine.log.warn(
      { rtt: Math.round(rtt ?? 0) },
      `the store took over ${SLOW_MS} ms to answer, ${SLOW_BEATS} times in a row: is it far away or overloaded, or this process short of CPU?`,
    )
  }

  #record(busy: number, quiet: boolean): ProcessRecord {
    const { identity, concurrency, orderedConcurrency } = this.#shown
    return {
      identity,
      info: this.#info,
      // Sidekiq's `concurrency` counts jobs and batches, since `busy` counts both.
      concurrency: concurrency + orderedConcurrency,
      busy,
      quiet,
      beat: this.#engine.now(),
      rss: Math.round(process.memoryUsage.rss() / 1024),
    }
  }
}

/** As Sidekiq 8.1 has it, and for older readers as 8.0 and 7 had it. */
function infoOf(
  { identity, tag, labels, capsules, concurrency, orderedConcurrency, startedAt, version, defined }: Shown,
  embedded: boolean,
): string {
  return JSON.stringify({
    hostname: process.env.DYNO || hostname(),
    started_at: startedAt / 1000,
    pid: process.pid,
    tag,
    concurrency: concurrency + orderedConcurrency,
    ...(orderedConcurrency > 0 ? { ordered_concurrency: orderedConcurrency } : {}),
    capsules: Object.fromEntries(
      capsules.map(({ name, concurrency, order: { mode, weights } }) => [name, { concurrency, mode, weights }]),
    ),
    queues: [...new Set(capsules.flatMap(({ order }) => order.names))],
    weights: capsules.map(({ order }) => order.weights),
    labels,
    identity,
    version,
    // Tells us from Sidekiq, which does not know all that we do.
    highkiq: version,
    defined_queues: defined,
    embedded,
  })
}
