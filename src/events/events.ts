/** Reading the events of jobs, from any process. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { HighkiqError, hasCode, invalidOption, isUnreachable } from '../job/errors.ts'
import { checkOptions, type OptionKind, shown } from '../job/options.ts'
import type { RecordedEvent } from '../store/contract.ts'
import {
  checkOf,
  JOB_EVENT_KINDS,
  type JobEvent,
  type JobEventKind,
  type Position,
  readEvents,
  readPosition,
  writePosition,
} from './job-event.ts'
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
  /** The id of an event, or a position: the loop begins after it. Without it, the loop begins with new events. */
  after?: string
}

const isId = (value: unknown) => typeof value === 'string' && readPosition(value) !== undefined

const OPTIONS: Record<keyof JobEventsOptions, OptionKind> = {
  jobs: 'texts',
  queues: 'texts',
  kinds: 'texts',
  signal: 'signal',
  after: [isId, 'the id of an event'],
}

/** One call of the store reads about this many events. */
const PAGE = 500
/** One call of the store waits at most this long for an event. */
const WAIT_MS = 10_000
/** The pause before a store that is away is asked again. */
const RETRY_MS = 500

/** The events of jobs, in the order in which they were recorded. A loop over it waits for further events. */
export class JobEvents implements AsyncIterable<JobEvent> {
  readonly #app: Pick<AppPort, 'store' | 'now'>
  readonly #options: JobEventsOptions
  readonly #signal: AbortSignal
  #position: Position | undefined
  #beginning: Promise<Position> | undefined
  /** When the recording is extended next, on the monotonic clock. */
  #extendAt = 0

  /** @throws INVALID_OPTION */
  constructor(app: Pick<AppPort, 'store' | 'now'>, options: JobEventsOptions = {}) {
    checkOptions('hq.events', options, OPTIONS)
    const wrong = options.kinds?.find((kind) => !JOB_EVENT_KINDS.includes(kind))
    if (wrong !== undefined) {
      throw invalidOption(`hq.events: kinds must be an array of ${JOB_EVENT_KINDS.join(', ')} (one is ${shown(wrong)})`)
    }
    this.#app = app
    this.#options = options
    this.#signal = options.signal ?? new AbortController().signal
  }

  /**
   * Resolves with the id of the last event that the loop has passed. Before the loop it starts the recording if needed, and
   * resolves with where the loop will begin: from then on the loop misses no event.
   */
  async position(): Promise<string> {
    return writePosition(this.#position ?? (await this.#begin()))
  }

  /**
   * Ends when the signal aborts, and when the app closes.
   * @throws EVENTS_TRIMMED when the next event is not kept any more, or the store has lost events
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent, void> {
    try {
      yield* this.#follow()
    } catch (thrown) {
      if (!hasCode(thrown, 'STORE_CLOSED')) throw thrown
    }
  }

  async *#follow(): AsyncGenerator<JobEvent, void> {
    if (this.#signal.aborted) return
    await this.#begin()
    while (!this.#signal.aborted) {
      for (const one of await this.#next()) {
        const passed = this.#position as Position
        const isInside = passed.part > 0 && one.number === passed.number
        for (const { event, position } of readEvents(one).slice(isInside ? passed.part : 0)) {
          this.#position = position
          if (!this.#isWanted(event)) continue
          yield event
          if (this.#signal.aborted) return
        }
      }
    }
  }

  #isWanted({ job, queue, kind }: JobEvent): boolean {
    const { jobs, queues, kinds } = this.#options
    return (jobs?.includes(job) ?? true) && (queues?.includes(queue) ?? true) && (kinds?.includes(kind) ?? true)
  }

  async #next(): Promise<RecordedEvent[]> {
    const { store, now } = this.#app
    const { number, part, check } = this.#position as Position
    const isRead = (event: unknown) => checkOf(event) === check
    // The rest of an event that was passed in part comes with the whole event.
    const after = part > 0 ? Math.max(number - 1, 0) : number
    const isLast = check && part === 0 ? isRead : undefined
    const page = await this.#patiently(async () => {
      if (performance.now() >= this.#extendAt) await this.#record()
      return store.events.read(after, { limit: PAGE, ms: WAIT_MS, signal: this.#signal, isLast }, now)
    })
    if (page === undefined) return []
    const first = page?.[0]
    // No loop writes a position with more parts than its event has. A loop that began there would never advance.
    const isSame = part === 0 || first === undefined || (isRead(first.event) && part < readEvents(first).length)
    if (page && isSame) return page
    const position = writePosition({ number, part, check })
    throw new HighkiqError(
      'EVENTS_TRIMMED',
      `the events after ${position} are not kept any more: leave out \`after\` to begin with new events, and read from the store what has become of your jobs`,
      { after: position },
    )
  }

  #begin(): Promise<Position> {
    this.#beginning ??= this.#start().catch((thrown) => {
      this.#beginning = undefined
      throw thrown
    })
    return this.#beginning
  }

  async #start(): Promise<Position> {
    const { store, now } = this.#app
    const { after } = this.#options
    const { newest, isConfirmed } = await this.#record()
    const isAfter = after === undefined ? undefined : readPosition(after)
    let number: number | null = newest
    if (!isAfter && !isConfirmed) {
      // Until now other processes may believe that nothing is recorded.
      await sleep(2 * FRESH_MS, undefined, { signal: this.#signal }).catch(() => {})
      if (!this.#signal.aborted) number = await store.events.confirm(now())
      if (number === null) return this.#start()
    }
    const position = isAfter ?? (await this.#positionOf(number))
    this.#position ??= position
    return this.#position
  }

  /** Returns the position behind an event. */
  async #positionOf(number: number): Promise<Position> {
    const { store, now } = this.#app
    let check = ''
    const isLast = (event: unknown) => {
      check = checkOf(event)
      return true
    }
    await store.events.read(number, { limit: 1, ms: 0, signal: this.#signal, isLast }, now)
    return { number, part: 0, check }
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
        if (!isUnreachable(thrown)) throw thrown
        this.#extendAt = 0
        await sleep(RETRY_MS, undefined, { signal: this.#signal }).catch(() => {})
      }
    }
    return undefined
  }
}
