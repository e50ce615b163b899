/** Reading the events of jobs, from any process. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { HighkiqError, hasCode, invalidOption, isUnreachable } from '../job/errors.ts'
import { checkOptions, type OptionKind, shown } from '../job/options.ts'
import type { JobEventStore, RecordedEvent } from '../store/contract.ts'
import {
  checkOf,
  JOB_EVENT_KINDS,
  type JobEvent,
  type JobEventKind,
  type Position,
  readEvents,
  readPosition,
  readPositions,
  writePosition,
  writePositions,
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

const isId = (value: unknown) => typeof value === 'string' && readPositions(value) !== undefined

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

/**
 * The events of jobs, in the order in which they were recorded. A loop over it waits for further events. Each shard of
 * a store has its own recording, so events of two shards come in any order. To resume a loop over several shards, pass
 * what `position` returned as `after`: the id of an event is a position in one shard only.
 */
export class JobEvents implements AsyncIterable<JobEvent> {
  readonly #app: Pick<AppPort, 'store' | 'now'>
  readonly #options: JobEventsOptions
  #readers: readonly RecordingReader[] | undefined
  /**
   * For each reader, the position behind the last event that the loop has yielded. Undefined before the loop, or with
   * one reader.
   */
  #passed: Position[] | undefined

  /** @throws INVALID_OPTION */
  constructor(app: Pick<AppPort, 'store' | 'now'>, options: JobEventsOptions = {}) {
    checkOptions('hq.events', options, OPTIONS)
    const wrong = options.kinds?.find((kind) => !JOB_EVENT_KINDS.includes(kind))
    if (wrong !== undefined) {
      throw invalidOption(`hq.events: kinds must be an array of ${JOB_EVENT_KINDS.join(', ')} (one is ${shown(wrong)})`)
    }
    this.#app = app
    this.#options = options
  }

  /**
   * Resolves with the id of the last event that the loop has passed. Before the loop it starts the recording if needed, and
   * resolves with where the loop will begin: from then on the loop misses no event.
   */
  async position(): Promise<string> {
    return writePositions(this.#passed ?? (await this.#positions()))
  }

  /**
   * Ends when the signal aborts, and when the app closes.
   * @throws EVENTS_TRIMMED when the next event is not kept any more, or the store has lost events
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent, void> {
    const [only, ...others] = this.#all
    try {
      if (only && others.length === 0) yield* only.follow()
      else yield* this.#followAll()
    } catch (thrown) {
      if (!hasCode(thrown, 'STORE_CLOSED')) throw thrown
    }
  }

  async *#followAll(): AsyncGenerator<JobEvent, void> {
    const ended = new AbortController()
    const { signal = ended.signal } = this.#options
    const any = AbortSignal.any([signal, ended.signal])
    const readers = this.#all
    const loops = readers.map((reader) => reader.follow(any))
    const passed = await this.#positions()
    this.#passed = passed
    const nextOf = async (index: number) => ({ index, result: await (loops[index] as (typeof loops)[number]).next() })
    const waiting = new Map(loops.map((_, index) => [index, nextOf(index)]))
    try {
      while (waiting.size > 0) {
        const { index, result } = await Promise.race(waiting.values())
        if (result.done) {
          waiting.delete(index)
          continue
        }
        const { id } = result.value
        passed[index] = readPosition(id) as Position
        yield { ...result.value, id: `${index}:${id}` }
        waiting.set(index, nextOf(index))
      }
    } finally {
      ended.abort()
      await Promise.allSettled(waiting.values())
    }
  }

  #positions(): Promise<Position[]> {
    return Promise.all(this.#all.map((reader) => reader.position()))
  }

  /** @throws INVALID_OPTION when `after` is of a store with another number of shards */
  get #all(): readonly RecordingReader[] {
    if (this.#readers) return this.#readers
    const { store, now } = this.#app
    const recordings = store.events.shards ?? [store.events]
    const { after } = this.#options
    const positions = after === undefined ? undefined : readPositions(after)
    if (positions && positions.length !== recordings.length) {
      throw invalidOption(
        `hq.events: after must be a position in ${recordings.length} shards, as position() returns it (got ${shown(after)})`,
      )
    }
    this.#readers = recordings.map(
      (events, index) => new RecordingReader(events, now, this.#options, positions?.[index]),
    )
    return this.#readers
  }
}

/** Reads the events of one recording. */
class RecordingReader {
  readonly #events: JobEventStore
  readonly #now: () => number
  readonly #options: JobEventsOptions
  readonly #after: Position | undefined
  #signal: AbortSignal
  #position: Position | undefined
  #beginning: Promise<Position> | undefined
  /** When the recording is extended next, on the monotonic clock. */
  #extendAt = 0

  constructor(events: JobEventStore, now: () => number, options: JobEventsOptions, after: Position | undefined) {
    this.#events = events
    this.#now = now
    this.#options = options
    this.#after = after
    this.#signal = options.signal ?? new AbortController().signal
  }

  async position(): Promise<Position> {
    return this.#position ?? (await this.#begin())
  }

  async *follow(signal = this.#signal): AsyncGenerator<JobEvent, void> {
    this.#signal = signal
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
    const { number, part, check } = this.#position as Position
    const isRead = (event: unknown) => checkOf(event) === check
    // The rest of an event that was passed in part comes with the whole event.
    const after = part > 0 ? Math.max(number - 1, 0) : number
    const isLast = check && part === 0 ? isRead : undefined
    const page = await this.#patiently(async () => {
      if (performance.now() >= this.#extendAt) await this.#record()
      return this.#events.read(after, { limit: PAGE, ms: WAIT_MS, signal: this.#signal, isLast }, this.#now)
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
    const { newest, isConfirmed } = await this.#record()
    const isAfter = this.#after
    let number: number | null = newest
    if (!isAfter && !isConfirmed) {
      // Until now other processes may believe that nothing is recorded.
      await sleep(2 * FRESH_MS, undefined, { signal: this.#signal }).catch(() => {})
      if (!this.#signal.aborted) number = await this.#events.confirm(this.#now())
      if (number === null) return this.#start()
    }
    const position = isAfter ?? (await this.#positionOf(number))
    this.#position ??= position
    return this.#position
  }

  /** Returns the position behind an event. */
  async #positionOf(number: number): Promise<Position> {
    let check = ''
    const isLast = (event: unknown) => {
      check = checkOf(event)
      return true
    }
    await this.#events.read(number, { limit: 1, ms: 0, signal: this.#signal, isLast }, this.#now)
    return { number, part: 0, check }
  }

  #record() {
    this.#extendAt = performance.now() + EXTEND_MS
    return this.#events.record(null, this.#now())
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
