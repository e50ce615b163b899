/** Reading the events of jobs, from any process. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { type ErrorCode, HighkiqError, hasCode } from '../job/errors.ts'
import { checkOptions, type OptionKind } from '../job/options.ts'
import type { RecordedEvent } from '../store/contract.ts'
import { JOB_EVENT_KINDS, type JobEvent, type JobEventKind, readEvent } from './job-event.ts'
import { EXTEND_MS, FRESH_MS } from './recording.ts'

export interface JobEventsOptions {
  /** Yields only events of these jobs, by name. */
  jobs?: readonly string[]
  /** Yields only events of jobs in these queues. */
  queues?: readonly string[]
  /** Yields only events of these kinds. */
  kinds?: readonly JobEventKind[]
  /** Ends the loop when it aborts. */
  signal?: AbortSignal
  /** The id of an event, or a position: the loop begins behind it. Without it, the loop begins with new events. */
  after?: string
}

const isId = (value: unknown) => typeof value === 'string' && /^\d{1,16}$/.test(value)
const isKinds = (value: unknown) =>
  Array.isArray(value) && value.every((one) => JOB_EVENT_KINDS.includes(one as JobEventKind))

const OPTIONS: Record<keyof JobEventsOptions, OptionKind> = {
  jobs: 'texts',
  queues: 'texts',
  kinds: [isKinds, `an array of ${JOB_EVENT_KINDS.join(', ')}`],
  signal: 'signal',
  after: [isId, 'the id of an event'],
}

/** One call of the store reads about this many events. */
const PAGE = 500
/** One call of the store waits at most this long for an event. */
const WAIT_MS = 10_000
/** The pause before a store that is away is asked again. */
const RETRY_MS = 500
const AWAY: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

/** The events of jobs, in the order in which they were recorded. A loop over it waits for further events. */
export class JobEvents implements AsyncIterable<JobEvent> {
  readonly #app: Pick<AppPort, 'store' | 'now'>
  readonly #options: JobEventsOptions
  readonly #signal: AbortSignal
  #position: number | undefined
  #beginning: Promise<number> | undefined
  /** When the recording is extended next, on the monotonic clock. */
  #extendAt = 0

  /** @throws INVALID_OPTION */
  constructor(app: Pick<AppPort, 'store' | 'now'>, options: JobEventsOptions = {}) {
    checkOptions('hq.events', options, OPTIONS)
    this.#app = app
    this.#options = options
    this.#signal = options.signal ?? new AbortController().signal
  }

  /**
   * Resolves with the id of the last event that the loop has passed. Before the loop it starts the recording if needed, and
   * resolves with where the loop will begin: from then on the loop misses no event.
   */
  async position(): Promise<string> {
    return String(this.#position ?? (await this.#begin()))
  }

  /** @throws EVENTS_TRIMMED when the next event is not kept any more */
  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent, void> {
    if (this.#signal.aborted) return
    await this.#begin()
    while (!this.#signal.aborted) {
      for (const one of await this.#next()) {
        this.#position = one.number
        const event = readEvent(one)
        if (!this.#isWanted(event)) continue
        yield event
        if (this.#signal.aborted) return
      }
    }
  }

  #isWanted({ job, queue, kind }: JobEvent): boolean {
    const { jobs, queues, kinds } = this.#options
    return (jobs?.includes(job) ?? true) && (queues?.includes(queue) ?? true) && (kinds?.includes(kind) ?? true)
  }

  async #next(): Promise<RecordedEvent[]> {
    const { store, now } = this.#app
    const after = this.#position as number
    const page = await this.#patiently(async () => {
      if (performance.now() >= this.#extendAt) await this.#record()
      return store.events.read(after, { limit: PAGE, ms: WAIT_MS, signal: this.#signal }, now)
    })
    if (page) return page
    if (page === undefined) return []
    throw new HighkiqError(
      'EVENTS_TRIMMED',
      `the events after ${after} are not kept any more: leave out \`after\` to begin with new events, and read from the store what has become of your jobs`,
      { after: String(after) },
    )
  }

  #begin(): Promise<number> {
    this.#beginning ??= this.#start().catch((thrown) => {
      this.#beginning = undefined
      throw thrown
    })
    return this.#beginning
  }

  async #start(): Promise<number> {
    const { store, now } = this.#app
    const { after } = this.#options
    const { newest, isConfirmed } = await this.#record()
    if (after !== undefined || isConfirmed) {
      this.#position ??= after === undefined ? newest : Number(after)
      return this.#position
    }
    // Until now other processes may believe that nothing is recorded.
    await sleep(2 * FRESH_MS, undefined, { signal: this.#signal }).catch(() => {})
    const confirmed = this.#signal.aborted ? newest : await store.events.confirm(now())
    if (confirmed === null) return this.#start()
    this.#position ??= confirmed
    return this.#position
  }

  #record() {
    const { store, now } = this.#app
    this.#extendAt = performance.now() + EXTEND_MS
    return store.events.record(null, now())
  }

  /** Repeats a call while the store is away; undefined once the signal has aborted. */
  async #patiently<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await work()
      } catch (thrown) {
        if (!AWAY.some((code) => hasCode(thrown, code))) throw thrown
        this.#extendAt = 0
        await sleep(RETRY_MS, undefined, { signal: this.#signal }).catch(() => {})
      }
    }
    return undefined
  }
}
