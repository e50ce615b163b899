/** The sizes of queues over time: one worker stores them every minute, so that a chart shows since when a queue is long. */

import type { AppPort } from '../app/port.ts'
import type { Snapshot, Store } from '../store/contract.ts'
import type { LeaderLock } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import { Maintenance } from '../worker/maintenance.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
/** How often a worker checks whether the next minute has begun. */
const EVERY_MS = 10_000
/** The spans of ten minutes for which the store has minutes. */
const SPANS_OF_MINUTES = 48

/** Stores the sizes of all queues every minute, and every ten minutes the largest sizes of the ten minutes before. */
export class QueueSizeRecorder extends Maintenance {
  readonly #app: Pick<Engine, 'store' | 'now'>
  readonly #minuteWriter: SizeWriter
  readonly #tenMinuteWriter: SizeWriter
  /** The minute that this process stored last. */
  #storedMinute = 0
  /** This process has stored all spans of ten minutes before this one. */
  #storedUpTo = 0

  constructor(app: Pick<Engine, 'store' | 'now' | 'report'>, options: { lock?: LeaderLock } = {}) {
    super(app, { during: 'storing the sizes of queues', everyMs: EVERY_MS, first: 'later', ...options })
    this.#app = app
    this.#minuteWriter = new SizeWriter(app.store, 1)
    this.#tenMinuteWriter = new SizeWriter(app.store, 10)
  }

  public override async run(): Promise<void> {
    const { store, now } = this.#app
    const at = now()
    const minute = at - (at % MINUTE)
    const span = at - (at % TEN_MINUTES)
    if ((minute === this.#storedMinute && span === this.#storedUpTo) || !(await this.isLeader())) return
    if (minute !== this.#storedMinute) await this.#minuteWriter.write(minute, await sizesNow(store))
    this.#storedMinute = minute
    if (span !== this.#storedUpTo) await this.#rollUp(span)
    this.#storedUpTo = span
  }

  /**
   * Stores the largest sizes of spans before `current` that have none. It checks only the last span; a new leader, or
   * one after a pause, checks all spans whose minutes are stored.
   */
  async #rollUp(current: number): Promise<void> {
    const { metrics } = this.#app.store
    const spans = timesUpTo(
      current - TEN_MINUTES,
      10,
      this.#storedUpTo === current - TEN_MINUTES ? 1 : SPANS_OF_MINUTES,
    )
    const stored = new Set((await metrics.queueSizes(10, spans)).map(({ at }) => at))
    const missing = spans.filter((at) => !stored.has(at))
    const minutes = await metrics.queueSizes(1, missing.flatMap(minutesOf))
    for (const span of missing) {
      const largest = largestOf(minutes.filter(({ at }) => at >= span && at < span + TEN_MINUTES))
      if (largest) await this.#tenMinuteWriter.write(span, largest)
    }
  }
}

async function sizesNow(store: Store): Promise<KnownSizes> {
  const queues = await store.jobs.queues()
  return cutSizes(new Map(queues.map(({ name, size, limited }) => [name, size + limited])))
}

/** The size of a queue in the first moment of a minute, or its largest size in such moments of ten minutes. */
export interface SizePoint {
  at: number
  size: number
}

/** Returns the known sizes of a queue in the `n` spans up to the one that begins at `last`, oldest first. */
export async function sizesOf(
  { store }: Pick<AppPort, 'store'>,
  name: string,
  { span, n, last }: { span: 1 | 10; n: number; last: number },
): Promise<SizePoint[]> {
  const { metrics } = store
  const from = last - (n - 1) * span * MINUTE
  // A text leaves out sizes that an earlier text of its block has.
  const texts = await metrics.queueSizes(span, timesUpTo(last, span, n + SAMPLES_A_BLOCK - 1))
  const points = sizesIn(texts, name).filter(({ at }) => at >= from)
  if (span === 1) return points
  // The ten minutes under way have no text yet, and those before them may have none.
  const recent = timesUpTo(last, 10, 2).filter((at) => at >= from && !texts.some((text) => text.at === at))
  const minutes = sizesIn(await metrics.queueSizes(1, recent.flatMap(minutesOf)), name)
  return [...points, ...recent.flatMap((at) => largestPoint(minutes, at))]
}

const FIVE_MINUTES = 5 * MINUTE
/** The spans of five minutes in an hour. */
const SPANS_OF_HOUR = 12

/**
 * Returns, for each queue that had jobs, its largest size in each five minutes of the last hour, oldest first. The five
 * minutes under way are left out. Null: no worker ran, or the size is not known.
 */
export async function sizesOfLastHour({ store }: Pick<AppPort, 'store'>, now: number): Promise<SizesOfHour> {
  const end = now - (now % FIVE_MINUTES)
  const from = end - SPANS_OF_HOUR * FIVE_MINUTES
  const last = end - MINUTE
  const texts = await store.metrics.queueSizes(1, timesUpTo(last, 1, SPANS_OF_HOUR * 5 + SAMPLES_A_BLOCK - 1))
  const sizes = new Map<string, number>()
  const found = new Map<string, number[]>()
  const isKnown = new Array<boolean | undefined>(SPANS_OF_HOUR).fill(undefined)
  for (const text of readTexts(texts)) {
    if (text.isWhole) sizes.clear()
    for (const [name, size] of text.sizes) sizes.set(name, size)
    const span = Math.floor((text.at - from) / FIVE_MINUTES)
    if (span < 0) continue
    // The first text of five minutes counts also for the queues whose sizes did not change.
    const counted = isKnown[span] === undefined ? sizes : text.sizes
    isKnown[span] = isKnown[span] !== false && !text.isCut
    for (const [name, size] of counted) {
      if (!(size > 0)) continue
      const largest = found.get(name) ?? new Array<number>(SPANS_OF_HOUR).fill(0)
      largest[span] = Math.max(largest[span] as number, size)
      found.set(name, largest)
    }
  }
  const shown = (largest: number[]) => largest.map((size, span) => (isKnown[span] || size > 0 ? size : null))
  return new Map([...found].map(([name, largest]) => [name, shown(largest)]))
}

export type SizesOfHour = ReadonlyMap<string, (number | null)[]>

function largestPoint(minutes: readonly SizePoint[], span: number): SizePoint[] {
  const sizes = minutes.filter(({ at }) => at >= span && at < span + TEN_MINUTES).map(({ size }) => size)
  return sizes.length > 0 ? [{ at: span, size: Math.max(...sizes) }] : []
}

/** Returns the starts of `n` spans up to `last`, oldest first. */
function timesUpTo(last: number, span: 1 | 10, n: number): number[] {
  return Array.from({ length: n }, (_, i) => last - (n - 1 - i) * span * MINUTE)
}

function minutesOf(span: number): number[] {
  return timesUpTo(span + 9 * MINUTE, 1, 10)
}

// The texts ------------------------------------------------------------------------------------------------------

/*
 * A text has the sizes of queues in one span of time: a minute, or ten minutes.
 *
 * A whole text has the first line `all` or `largest`, and a line `"NAME" SIZE` for each queue that is not empty; `largest`:
 * the sizes of queues without a line are unknown. A text that begins with `since TIME` has only the sizes that differ from
 * those of the text of that time. It names a queue by the number of its line in the last whole text, if it has one there:
 * `17 4711`. The size `?` is unknown.
 *
 * So an unchanged queue costs nothing, and the size of one queue is found without reading the lines of the others. Ten
 * spans are a block, which begins with a whole text; a writer that does not know the text before also writes a whole one.
 */

/** The most queues of a text, so that its length is bounded. */
const MOST_QUEUES = 5000
const SAMPLES_A_BLOCK = 10

/** The sizes of queues that are not empty. */
interface KnownSizes {
  sizes: ReadonlyMap<string, number>
  /** Whether there are queues beside these, whose sizes are unknown. */
  isCut: boolean
}

/** Leaves out empty queues, and all but the largest if there are too many. */
function cutSizes(all: ReadonlyMap<string, number>, isCut = false): KnownSizes {
  const some = [...all].filter(([, size]) => size > 0)
  if (some.length <= MOST_QUEUES) return { sizes: new Map(some), isCut }
  return { sizes: new Map(some.sort(([, a], [, b]) => b - a).slice(0, MOST_QUEUES)), isCut: true }
}

interface Written extends KnownSizes {
  at: number
  /** The number of each queue's line in the last whole text. */
  lines: ReadonlyMap<string, number>
}

/** Writes the sizes of spans, and knows what it wrote last. */
class SizeWriter {
  readonly #store: Store
  readonly #span: 1 | 10
  /** The newest text. Undefined when the store may have another one than this writer's. */
  #last: Written | undefined
  #newest = 0

  constructor(store: Store, span: 1 | 10) {
    this.#store = store
    this.#span = span
  }

  /** Stores the sizes of the span that begins at `at`, unless it has some. */
  async write(at: number, sums: KnownSizes): Promise<void> {
    const before = this.#before(at, sums)
    this.#last = undefined
    const lines = before?.lines ?? new Map([...sums.sizes.keys()].map((name, i) => [name, i]))
    const text = before ? changed(before, sums) : whole(sums)
    const isStored = await this.#store.metrics.recordQueueSizes(this.#span, at, text)
    // The clock may have been set back.
    if (isStored && at >= this.#newest) this.#last = { ...sums, at, lines }
    this.#newest = Math.max(this.#newest, at)
  }

  /** Returns the last text if the next one may be relative to it. */
  #before(at: number, { isCut }: KnownSizes): Written | undefined {
    const last = this.#last
    const block = this.#span * MINUTE * SAMPLES_A_BLOCK
    const isSameBlock = last && last.at < at && last.at >= at - (at % block)
    return isSameBlock && last.isCut === isCut ? last : undefined
  }
}

function whole({ sizes, isCut }: KnownSizes): string {
  const lines = Array.from(sizes, ([name, size]) => `${JSON.stringify(name)} ${size}\n`)
  return `${isCut ? 'largest' : 'all'}\n${lines.join('')}`
}

function changed({ at, sizes: before, lines }: Written, { sizes, isCut }: KnownSizes): string {
  const label = (name: string) => lines.get(name) ?? JSON.stringify(name)
  const other = Array.from(sizes, ([name, size]) => (before.get(name) === size ? '' : `${label(name)} ${size}\n`))
  const gone = Array.from(before.keys(), (name) => (sizes.has(name) ? '' : `${label(name)} ${isCut ? '?' : 0}\n`))
  return `since ${at}\n${other.join('')}${gone.join('')}`
}

/** Returns the known sizes of one queue. */
function sizesIn(texts: readonly Snapshot[], name: string): { at: number; size: number }[] {
  const label = JSON.stringify(name)
  const points: { at: number; size: number }[] = []
  let last: { at: number; size: number | undefined; line: number | undefined } | undefined
  for (const { at, text } of texts) {
    const kind = kindOf(text)
    if (kind === 'all' || kind === 'largest') {
      const where = text.indexOf(`\n${label} `)
      const size = where < 0 ? (kind === 'all' ? 0 : undefined) : sizeAt(text, label)
      last = { at, size, line: where < 0 ? undefined : countNewlines(text, where) }
    } else if (last && kind === `since ${last.at}`) {
      const key = last.line ?? label
      last = { ...last, at, size: text.includes(`\n${key} `) ? sizeAt(text, key) : last.size }
    } else last = undefined
    if (last?.size !== undefined) points.push({ at, size: last.size })
  }
  return points
}

/** Returns the largest size of each queue; undefined without a text that can be read. */
function largestOf(texts: readonly Snapshot[]): KnownSizes | undefined {
  const largest = new Map<string, number>()
  let isCut: boolean | undefined
  for (const text of readTexts(texts)) {
    isCut = isCut || text.isCut
    for (const [name, size] of text.sizes) if (size > (largest.get(name) ?? 0)) largest.set(name, size)
  }
  return isCut === undefined ? undefined : cutSizes(largest, isCut)
}

interface SizeText {
  at: number
  isWhole: boolean
  isCut: boolean
  /** The sizes of all queues, or those that changed. An unknown size is NaN. */
  sizes: [name: string, size: number][]
}

/** Reads texts, oldest first, except those that depend on a text that is missing. */
function* readTexts(texts: readonly Snapshot[]): Generator<SizeText> {
  let last: { at: number; isCut: boolean; names: string[] } | undefined
  for (const { at, text } of texts) {
    const kind = kindOf(text)
    const isWhole = kind === 'all' || kind === 'largest'
    const before = last && kind === `since ${last.at}` ? last : undefined
    last = undefined
    if (!isWhole && !before) continue
    const entries = text.split('\n').slice(1, -1).map(entryOf)
    const names: string[] = isWhole ? entries.map(([key]) => JSON.parse(key)) : (before?.names ?? [])
    const isCut = isWhole ? kind === 'largest' : before?.isCut === true
    const nameOf = (key: string, i: number): string =>
      isWhole ? (names[i] as string) : key.startsWith('"') ? JSON.parse(key) : (names[Number(key)] as string)
    last = { at, isCut, names }
    yield { at, isWhole, isCut, sizes: entries.map(([key, size], i) => [nameOf(key, i), size]) }
  }
}

function kindOf(text: string): string {
  return text.slice(0, text.indexOf('\n'))
}

function countNewlines(text: string, end: number): number {
  let n = 0
  for (let at = text.indexOf('\n'); at < end; at = text.indexOf('\n', at + 1)) n++
  return n
}

/** Returns the size in the line of a queue; undefined when it is unknown. */
function sizeAt(text: string, key: string | number): number | undefined {
  const begin = text.indexOf(`\n${key} `) + `${key}`.length + 2
  const size = Number(text.slice(begin, text.indexOf('\n', begin)))
  return Number.isInteger(size) ? size : undefined
}

/** Splits a line. An unknown size is NaN. */
function entryOf(line: string): [key: string, size: number] {
  const end = line.lastIndexOf(' ')
  return [line.slice(0, end), Number(line.slice(end + 1))]
}
