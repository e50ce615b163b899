/** Records this process in the store, and obeys the signals that others send through the store. */

import { hostname } from 'node:os'
import type { ProcessRecord, RunningJob, Signal } from '../../store/contract.ts'
import { Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Capsule } from './capsules.ts'

const BEAT_MS = 10_000
/** Seconds for which the store lists a process without a heartbeat. */
export const SHOWN_SECONDS = 60
/** The worker warns when the store answers later than this, this many heartbeats in a row. */
const SLOW_MS = 50
const SLOW_BEATS = 5

export interface Shown {
  identity: string
  tag: string
  labels: readonly string[]
  capsules: readonly Capsule[]
  /** The number of jobs that run at the same time, in all capsules. */
  concurrency: number
  /** The number of batches of ordered queues that run at the same time. */
  orderedConcurrency: number
  startedAt: number
  version: string
  /** The queues that the jobs of the app name. */
  defined: readonly string[]
  /** The most jobs of each queue that has such a limit in the app. */
  maxLengths: ReadonlyMap<string, number>
  /** Whether the program has another purpose, so that others must not stop it through the store. */
  isEmbedded: () => boolean
}

/** The part of the record that changes from heartbeat to heartbeat. */
export interface State {
  quiet: boolean
  running: RunningJob[]
}

export class Heartbeat extends Periodic {
  readonly #engine: Engine
  readonly #shown: Shown
  readonly #state: () => State
  readonly #obey: (signal: Signal) => void
  #info = ''
  /** The number of slow heartbeats in a row. */
  #slowBeats = 0
  /** The store answered the last heartbeat. If it did not, that one may have recorded the process all the same. */
  #wasAnswered = false
  /** The `heartbeat` and `beat` handlers of the last heartbeat. */
  #emitting: Promise<void> = Promise.resolve()

  constructor(engine: Engine, shown: Shown, state: () => State, obey: (signal: Signal) => void) {
    super(engine.report, { during: 'the heartbeat', everyMs: BEAT_MS, fixedRate: true, first: 'awaited' })
    this.#engine = engine
    this.#shown = shown
    this.#state = state
    this.#obey = obey
  }

  override async start(): Promise<void> {
    this.#info = infoOf(this.#shown)
    await super.start()
    await this.#emitting
  }

  /** Records at once that the number of slots has changed. */
  async changed(): Promise<void> {
    // Before its start the worker is not listed.
    if (this.#info === '') return
    this.#info = infoOf(this.#shown)
    await this.runNow()
  }

  override async quiet(): Promise<void> {
    await this.runNow()
  }

  override async stop(): Promise<void> {
    await super.stop()
    await this.#emitting
    await this.#engine.store.workers.removeProcess(this.#shown.identity)
  }

  /** Does not wait for handlers: a slow one must not delay the next heartbeat. */
  protected override async run(): Promise<void> {
    const { quiet, running } = this.#state()
    const record = this.#recordOf(running.length, quiet)
    const { signal, known, rtt } = await this.#engine.store.workers.heartbeat(record, SHOWN_SECONDS, running)
    this.#checkLatency(rtt)
    this.#emitting = this.#emit(known && this.#wasAnswered)
    this.#wasAnswered = true
    if (signal) this.#obey(signal)
  }

  protected override failed(): void {
    this.#wasAnswered = false
  }

  /** Never rejects. `known` is false at the first heartbeat, when the store has lost this process, and after a lost answer. */
  async #emit(known: boolean): Promise<void> {
    const { emit } = this.#engine
    if (!known) await emit('heartbeat')
    await emit('beat')
  }

  #checkLatency(rtt: number | null): void {
    this.#slowBeats = rtt !== null && rtt > SLOW_MS ? this.#slowBeats + 1 : 0
    if (this.#slowBeats < SLOW_BEATS) return
    this.#slowBeats = 0
    this.#engine.log.warn(
      { rtt: Math.round(rtt ?? 0) },
      `the store took over ${SLOW_MS} ms to answer, ${SLOW_BEATS} times in a row: is it far away or overloaded, or this process short of CPU?`,
    )
  }

  #recordOf(busy: number, quiet: boolean): ProcessRecord {
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

/** Returns the record in the format of Sidekiq 8.1, with the members that 8.0 and 7 read. */
function infoOf(shown: Shown): string {
  const { identity, tag, labels, capsules, concurrency, orderedConcurrency, startedAt, version, defined, maxLengths } =
    shown
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
    // Readers tell our processes from Sidekiq's by this member.
    highkiq: version,
    defined_queues: defined,
    ...(maxLengths.size > 0 ? { max_lengths: Object.fromEntries(maxLengths) } : {}),
    embedded: shown.isEmbedded(),
  })
}
