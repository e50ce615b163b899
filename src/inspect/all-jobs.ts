/** Searches the jobs of all states at once, counts them, and acts on those that match. */

import { invalidOption } from '../job/errors.ts'
import { isObject, parseList } from '../job/json.ts'
import { checkOptions, type OptionKind, shown } from '../job/options.ts'
import { added, type BulkResult, type SweepOptions } from './bulk.ts'
import { FILTER_TEXTS, filterOf, type JobFilter, type SearchView } from './filter.ts'
import { sourcesOf } from './job-sources.ts'
import { orderedSizes } from './ordered-source.ts'
import { type Search, searchOf } from './pattern.ts'
import { JobRecord } from './record.ts'
import {
  JOB_ACTIONS,
  type JobAction,
  type JobHit,
  type Matcher,
  SEARCHED_STATES,
  type SearchedState,
  type SearchPort,
  type Source,
  wrongCursor,
} from './source.ts'
import { statsOf } from './stats.ts'
import { PAGE, PAGE_OPTIONS, type Page, type PageOptions } from './walk.ts'

export { JOB_ACTIONS, type JobAction, type JobHit, SEARCHED_STATES, type SearchedState, type SearchView }

export interface JobsFilter extends JobFilter {
  /** Default: all. */
  states?: readonly SearchedState[] | undefined
  /** Matches the rows of tasks whose `meta` has these values. */
  meta?: Readonly<Record<string, string | number>> | undefined
  /** Matches jobs whose time (see `JobHit.at`) is not before this. */
  from?: Date | undefined
  /** Matches jobs whose time is before this. */
  until?: Date | undefined
}

export interface StateCount {
  state: SearchedState
  /** All jobs of the state; null when the store does not count them. */
  size: number | null
  /** The jobs that match, of those that were scanned. */
  matching: number
  scanned: number
  /** Whether all jobs of the state were scanned. */
  complete: boolean
}

const DATE: OptionKind = [(value) => value instanceof Date && !Number.isNaN(value.getTime()), 'a Date']
const STATES: OptionKind = [
  (value) => Array.isArray(value) && value.length > 0 && value.every((one) => SEARCHED_STATES.includes(one)),
  `a list of ${SEARCHED_STATES.join(', ')}`,
]
const TEXT: OptionKind = [(value) => typeof value === 'string', 'a string']
const FILTER: Readonly<Record<string, OptionKind>> = {
  ...Object.fromEntries(FILTER_TEXTS.map((name) => [name, TEXT])),
  args: [isObject, "an object with paths and values, such as { '0.customer': '4711' }"],
  states: STATES,
  meta: [isObject, 'an object with names and values'],
  from: DATE,
  until: DATE,
}

/** A search reads its sources for about this long. */
const SEARCH_MS = 150
/** A count of all states takes about this long. When reading the totals takes long, the states have half of it. */
const COUNT_MS = 250
/** The store does not count these rows. */
const ROWS = { rejected: null, finished: null }
/** The tasks of this many searches by `meta` are remembered. */
const REMEMBERED = 20
/** One read of a count returns about this many jobs. */
const COUNTED = 500

/**
 * `hq.jobs`: the jobs of all states.
 *
 * @example const { items } = await hq.jobs.search({ states: ['dead'], args: { '0.customer': '4711' } })
 */
export class AllJobs {
  readonly #port: SearchPort
  /** The tasks of the newest searches by `meta`, so that their further pages need not read them again. */
  readonly #tasks = new Map<string, ReadonlySet<string>>()

  constructor(port: SearchPort) {
    this.#port = port
  }

  /**
   * Resolves with a page of the jobs that match, state by state, failed ones first: those of a job set by time, those of
   * queues newest first, running jobs longest first. A call scans a bounded number of jobs, so a page may be empty before
   * the end. A job that moves meanwhile may be found twice or be missed.
   * @throws INVALID_OPTION
   */
  async search(
    filter: JobsFilter = {},
    options: PageOptions = {},
    view: SearchView = {},
  ): Promise<Page<JobHit> & { scanned: number }> {
    checkOptions('jobs.search', options, PAGE_OPTIONS)
    const { after = null, limit = PAGE } = options
    const from = after === null ? null : cursorOf(after)
    const matcher = await this.#matcherOf('jobs.search', filter, view, from !== null)
    const end = performance.now() + SEARCH_MS
    const items: JobHit[] = []
    let scanned = 0
    for await (const { source, following } of sourcesFrom(this.#port, matcher, from)) {
      let next = from && isSame(source, from) ? from.after : null
      do {
        const ms = Math.max(end - performance.now(), 1)
        const page = await source.read({ after: next, limit: limit - items.length, ms })
        items.push(...page.items)
        scanned += page.scanned
        next = page.next
        if (items.length < limit && performance.now() < end) continue
        if (next !== null) return { items, next: cursorAt(source, next), scanned }
        return { items, next: following && cursorAt(following, null), scanned }
      } while (next !== null)
    }
    return { items, next: null, scanned }
  }

  /**
   * Counts the jobs of each state that match, among those that it can scan in a quarter of a second. Without any filter it
   * leaves out rejected and finished rows, because it would have to read all tasks. @throws INVALID_OPTION
   */
  async count(filter: JobsFilter = {}, view: SearchView = {}): Promise<StateCount[]> {
    const matcher = await this.#matcherOf('jobs.count', filter, view)
    const { store, now } = this.#port.app
    const asked = performance.now()
    const [stats, succeeded, ordered] = await Promise.all([
      statsOf(store, now()),
      store.jobSets.size('finished'),
      orderedSizes(store, now()),
    ])
    const { scheduled, retries: retry, limited, backlog, enqueued: queued, busy: running, dead } = stats
    const sizes = { scheduled, retry, limited, backlog, queued, running, dead, succeeded, ...ordered, ...ROWS }
    const { states } = matcher
    const counts: StateCount[] = []
    const began = performance.now()
    const ms = Math.max(COUNT_MS - (began - asked), COUNT_MS / 2)
    for (const [i, state] of states.entries()) {
      const size = sizes[state]
      // The time that a state does not need goes to those after it.
      const end = began + (ms * (i + 1)) / states.length
      if (size === null && matcher.isOpen && filter.states === undefined) continue
      const count =
        matcher.isOpen && size !== null
          ? { matching: size, scanned: size, complete: true }
          : await counted(await sourcesOf(this.#port, { ...matcher, states: [state] }), end)
      counts.push({ state, size, ...count })
    }
    return counts
  }

  /**
   * Acts on all jobs that match. The filter must name its states, and the action must apply to each of them. `retry` and
   * `addToQueue` send jobs to their queues, and `retry` lowers their `retry_count` by one; it begins a run of the task of
   * rejected rows, and resurrects ids in the morgue. `kill` calls no death handlers.
   * `cancel` counts jobs that have ended meanwhile as `refused`.
   * @throws INVALID_OPTION; the signal's reason
   */
  async act(
    action: JobAction,
    filter: JobsFilter,
    options: Pick<SweepOptions, 'signal' | 'onProgress'> = {},
    view: SearchView = {},
  ): Promise<BulkResult> {
    checkOptions(`jobs.act('${action}')`, options, { signal: 'signal', onProgress: 'function' })
    checkAction(action, filter)
    const matcher = await this.#matcherOf(`jobs.act('${action}')`, filter, view)
    const { signal, onProgress } = options
    let sum: BulkResult = { done: 0, refused: 0 }
    for (const source of await sourcesOf(this.#port, matcher)) {
      const before = sum
      const result = await source.act(action, {
        ...(signal ? { signal } : {}),
        onProgress: (sofar) => onProgress?.(added(before, sofar)),
      })
      sum = added(before, result)
    }
    return sum
  }

  /** @throws INVALID_OPTION */
  async #tasksWith(meta: JobsFilter['meta'], isContinued: boolean): Promise<ReadonlySet<string> | undefined> {
    if (!meta || Object.keys(meta).length === 0) return undefined
    const key = JSON.stringify(meta)
    const known = isContinued ? this.#tasks.get(key) : undefined
    const tasks = known ?? (await this.#port.tasksWith(meta))
    this.#tasks.delete(key)
    this.#tasks.set(key, tasks)
    const [oldest] = this.#tasks.keys()
    if (this.#tasks.size > REMEMBERED && oldest !== undefined) this.#tasks.delete(oldest)
    return tasks
  }

  /** @throws INVALID_OPTION */
  async #matcherOf(where: string, filter: JobsFilter, view: SearchView, isContinued = false): Promise<Matcher> {
    checkOptions(`${where}: the filter`, filter, FILTER)
    const { states, queue, meta, from, until, ...texts } = filter
    const tasks = await this.#tasksWith(meta, isContinued)
    const inQueue = filterOf(texts, view)
    const search = queue ? filterOf({ ...texts, queue }, view) : inQueue
    return {
      // In the order of the search, and each once.
      states: SEARCHED_STATES.filter((state) => states === undefined || states.includes(state)),
      queue: queue === '' ? undefined : queue,
      search: inTasks(search, tasks),
      inQueue: inTasks(inQueue, tasks),
      from: from?.getTime() ?? Number.NEGATIVE_INFINITY,
      until: until?.getTime() ?? Number.POSITIVE_INFINITY,
      isOpen: !search && !tasks && !from && !until,
    }
  }
}

/** The state of a source and its name; with an empty name the first source of the state. */
type SourceName = Pick<Source, 'state' | 'name'>

/**
 * Yields the sources from a cursor on, with the name of the one that follows each. It lists those of a state when the search gets there,
 * because a list of thousands of queues takes as long as a page.
 */
async function* sourcesFrom(
  port: SearchPort,
  matcher: Matcher,
  from: Cursor | null,
): AsyncGenerator<{ source: Source; following: SourceName | null }> {
  const begin = from === null ? 0 : SEARCHED_STATES.indexOf(from.state)
  const states = matcher.states.filter((state) => SEARCHED_STATES.indexOf(state) >= begin)
  for (const [n, state] of states.entries()) {
    const all = await sourcesOf(port, { ...matcher, states: [state] })
    const sources = all.filter((source) => from === null || !isBefore(source, from))
    const nextState = states[n + 1]
    const behind = nextState === undefined ? null : { state: nextState, name: '' }
    for (const [i, source] of sources.entries()) yield { source, following: sources[i + 1] ?? behind }
  }
}

/** Counts what all sources have, until a time. */
async function counted(sources: readonly Source[], end: number): Promise<Omit<StateCount, 'state' | 'size'>> {
  const count = { matching: 0, scanned: 0, complete: false }
  for (const source of sources) {
    let after: string | null = null
    do {
      const ms = Math.max(end - performance.now(), 1)
      const page: Awaited<ReturnType<Source['read']>> = await source.read({ after, limit: COUNTED, ms })
      count.matching += page.items.length
      count.scanned += page.scanned
      after = page.next
      if (performance.now() >= end && (after !== null || source !== sources.at(-1))) return count
    } while (after !== null)
  }
  return { ...count, complete: true }
}

/** Adds the condition that a job is a row of one of these tasks. */
function inTasks(search: Search | undefined, tasks: ReadonlySet<string> | undefined): Search {
  const { needle, matches, ...rest } = search ?? searchOf('')
  if (!tasks) return { needle, matches, ...rest }
  const isRow = (text: string) =>
    text.includes('hk_task') && tasks.has(new JobRecord(text, { now: () => 0 }).payload.hk_task as string)
  return { needle: needle || 'hk_task', ...rest, matches: (text) => isRow(text) && matches(text) }
}

/** Refuses an action without states, or on states to which it does not apply. @throws INVALID_OPTION */
export function checkAction(action: JobAction, { states, ...filter }: JobsFilter = {}): void {
  if (!Object.hasOwn(JOB_ACTIONS, action)) {
    throw invalidOption(
      `jobs.act: there is no action ${shown(action)}; there are ${Object.keys(JOB_ACTIONS).join(', ')}`,
    )
  }
  checkOptions(`jobs.act('${action}'): the filter`, { states, ...filter }, FILTER)
  const empty = Object.entries(filter).find(([, value]) => value === undefined || value === '' || isEmpty(value))
  if (empty) throw invalidOption(`jobs.act: ${empty[0]} must not be empty: leave it out to mean all`)
  const allowed: readonly SearchedState[] = JOB_ACTIONS[action]
  const odd = states?.find((state) => !allowed.includes(state))
  if (states === undefined || states.length === 0 || odd !== undefined) {
    const got = odd === undefined ? 'none' : shown(odd)
    throw invalidOption(`${action} applies to jobs of the states ${allowed.join(', ')}: name some of them (got ${got})`)
  }
  filterOf(filter)
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && !(value instanceof Date) && Object.keys(value).length === 0
}

// Cursors ------------------------------------------------------------------------------------------------------

interface Cursor extends SourceName {
  after: string | null
}

function cursorAt({ state, name }: SourceName, after: string | null): string {
  return JSON.stringify([state, name, after])
}

/** @throws INVALID_OPTION */
function cursorOf(text: string): Cursor {
  const [given, name, after] = parseList(text)
  const state = SEARCHED_STATES.find((one) => one === given)
  if (state && typeof name === 'string' && (after === null || typeof after === 'string')) return { state, name, after }
  throw wrongCursor()
}

function isSame(source: Source, { state, name }: Cursor): boolean {
  return source.state === state && source.name === name
}

/** Returns whether a source of the state of a cursor is before it. One that is gone is followed by the next one by name. */
function isBefore(source: Source, { state, name }: Cursor): boolean {
  return source.state === state && source.name < name
}
