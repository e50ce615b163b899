import type { AppPort } from '../app/port.ts'
import { checkReadable, checkValue } from '../job/args.ts'
import { between } from '../job/between.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { isSealed } from '../job/encryption.ts'
import { HighkiqError, invalidJob, invalidOption } from '../job/errors.ts'
import { checkOptions, checkText } from '../job/options.ts'
import { newJid, type Payload, readPayload, writePayload } from '../job/payload.ts'
import type { Entry, Scan, ScanPage, SetName } from '../store/contract.ts'
import { addedToQueue, deleted, effectMembers, killed, notifyDeath } from './actions.ts'
import { type BulkResult, forAll, type SweepOptions } from './bulk.ts'
import { chunksOf, ScanBudget } from './chunks.ts'
import { trimDead } from './dead-set.ts'
import { type KillOptions, refuseEnded, SetEntry } from './entry.ts'
import { type ErrorGroups, errorGroups, type GroupingLimits, type GroupingOptions } from './error-groups.ts'
import { type Search, searchOf } from './pattern.ts'
import { findByJid, needleOf, PAGE, PAGE_OPTIONS, type Page, type PageOptions, scanFor, walk } from './walk.ts'

const SCAN_PAGE = 100
/** Sorts after every text. */
const LAST = '\u{10ffff}'
/** A search scans about this many entries, and by default takes about this long at most. */
const MOST_SEARCHED = 20_000
const SEARCH_MS = 150
/** Before a search for a jid scans a whole set, it reads the newest entries for about this long. */
const NEWEST_MS = 30
/** If many entries share a score, at most about this many are scanned from each end. */
const MOST_ALIKE = 2000
/** Matches whatever may be a jid in the text of a job. */
const JID = /"jid"\s*:\s*"([^"\\]*)"/g

/** A job to add to a job set. */
export type NewEntry = Pick<Payload, 'class' | 'args'> & Partial<Payload>

/**
 * A job set (`hq.retries`, `hq.scheduled`, `hq.dead` or `hq.finished`): jobs outside queues, by score. The score is the
 * time when a job is due, or when it died or finished.
 *
 * @example for await (const entry of hq.retries) if (entry.errorClass === 'TypeError') await entry.kill()
 */
export class JobSet implements AsyncIterable<SetEntry> {
  readonly name: SetName
  readonly #app: AppPort

  constructor(app: AppPort, name: SetName) {
    this.#app = app
    this.name = name
  }

  size(): Promise<number> {
    return this.#app.store.jobSets.size(this.name)
  }

  /**
   * Finds a job by its jid; null when there is none. In a large set this is slow, except for finished jobs and those
   * that died recently.
   * @throws the signal's reason
   */
  async find(jid: string, options: { signal?: AbortSignal } = {}): Promise<SetEntry | null> {
    checkText(`${this.name}: a jid`, jid)
    checkOptions('jobSet.find', options, { signal: 'signal' })
    if (this.name === 'finished') {
      options.signal?.throwIfAborted()
      const entry = await this.#app.store.jobSets.findFinished(jid)
      return entry && this.#entry(entry)
    }
    return (await this.#amongNewest(jid)) ?? findByJid(jid, this.#scan, this.#entry, options.signal)
  }

  /** Finds a job by its jid among the entries with this score or a higher one. @internal @throws the signal's reason */
  async findSince(score: number, jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<SetEntry | null> {
    const needle = needleOf(jid)
    for await (const chunk of chunksOf(this.#app.store, this.name, { signal })) {
      for (const entry of chunk) {
        if (entry.score < score) return null
        if (entry.text.includes(needle) && readPayload(entry.text)?.jid === jid) return this.#entry(entry)
      }
    }
    return null
  }

  /** Finds a job among the newest dead ones. Most searches are for these, and a scan on Redis has no order. */
  async #amongNewest(jid: string): Promise<SetEntry | undefined> {
    if (this.name !== 'dead') return undefined
    const needle = needleOf(jid)
    const matches = (text: string) => text.includes(needle) && readPayload(text)?.jid === jid
    const { items } = await this.search({ needle, matches }, { limit: 1, ms: NEWEST_MS })
    return items[0]
  }

  /**
   * Adds a job without client middleware and without handlers. A missing jid or queue is added. A job given as a text
   * is stored byte for byte.
   * @param at when it is due or died: a Date, `'5m'`, `{ minutes: 5 }`, or seconds (below 1e9 from now, otherwise since
   * the epoch)
   * @returns its jid
   * @throws INVALID_JOB, INVALID_ARGS, INVALID_OPTION
   */
  async schedule(at: Date | number | Duration, job: NewEntry | string): Promise<string> {
    const app = this.#app
    const { text, jid } = textOf(job, app.client)
    const score = dueAt(at, app.now())
    await app.store.jobs.push([{ to: this.name, text, score }], app.now())
    if (this.name === 'dead') await trimDead(app)
    return jid
  }

  /**
   * Resolves with the entries of a score or of a range of scores (inclusive), highest first. With a `jid` it returns
   * only the entries of that jid.
   * @throws INVALID_OPTION
   */
  async fetch(score: number | readonly [from: number, to: number], jid?: string): Promise<SetEntry[]> {
    const [from, to] = typeof score === 'number' ? [score, score] : score
    if (!(from <= to)) throw invalidOption(`from must be at most to (got from ${from}, to ${to})`)
    const found: SetEntry[] = []
    for await (const entry of this.#down({ score: to, text: LAST })) {
      if (entry.score < from) break
      if (jid === undefined || entry.jid === jid) found.push(entry)
    }
    return found
  }

  /**
   * Resolves with a page of the entries whose text matches, in any order; an entry may come twice when the set changes.
   * A pattern without `*` matches as a substring. A pattern with `*` must match the whole text, as in Redis (`*`, `?`,
   * `[a-z]`, `\`). A call scans a bounded number of entries, so a page may be empty before the end.
   */
  scan(pattern: string, options: PageOptions = {}): Promise<Page<SetEntry> & { scanned: number }> {
    const read = (needle: string, page: ScanPage) => this.#app.store.search.scanSet(this.name, needle, page)
    return scanFor('jobSet.scan', searchOf(pattern), options, read, this.#entry)
  }

  /** Resolves with a page, highest score first; lowest first with `desc: false`. @throws INVALID_OPTION */
  async page(options: PageOptions & { desc?: boolean } = {}): Promise<Page<SetEntry>> {
    checkOptions('jobSet.page', options, { ...PAGE_OPTIONS, desc: 'flag' })
    const { after, limit = PAGE, desc = true } = options
    const cursor = after ? cursorOf(after) : undefined
    const about = { ...(cursor ? { after: cursor } : {}), desc, limit: limit + 1 }
    const entries = await this.#app.store.jobSets.page(this.name, about)
    const [last, next] = entries.slice(limit - 1)
    return { items: entries.slice(0, limit).map(this.#entry), next: last && next ? nameOf(last, next, desc) : null }
  }

  /**
   * Resolves with a page of the entries that a search matches (see `filterOf`), in order of their scores. A call scans
   * a bounded number of entries, and takes about `ms` milliseconds at most, so a page may be empty before the end.
   * @throws INVALID_OPTION
   */
  async search(
    { matches }: Search,
    options: PageOptions & { desc?: boolean; ms?: number } = {},
  ): Promise<Page<SetEntry> & { scanned: number }> {
    checkOptions('jobSet.search', options, { ...PAGE_OPTIONS, desc: 'flag', ms: 'amount' })
    const { after, limit = PAGE, desc = true, ms = SEARCH_MS } = options
    const store = this.#app.store
    const items: SetEntry[] = []
    const looked = new ScanBudget({ most: MOST_SEARCHED, ms })
    let last: Entry | undefined
    for await (const chunk of chunksOf(store, this.name, { after: after ? cursorOf(after) : undefined, desc })) {
      for (const entry of chunk) {
        if (items.length === limit) break
        if (matches(entry.text)) items.push(this.#entry(entry))
        last = entry
        looked.add(entry)
      }
      if (items.length === limit || looked.isEnough) break
    }
    const [behind] = last ? await store.jobSets.page(this.name, { after: last, desc, limit: 1 }) : []
    return { items, next: last && behind ? nameOf(last, behind, desc) : null, scanned: looked.entries }
  }

  /**
   * Finds the entry of this score that `meant` accepts; null when there is none. If very many entries share the score,
   * it scans only those near the text `near`, and the first and the last of them.
   */
  async entryAt(score: number, meant: (text: string) => boolean, near?: string): Promise<SetEntry | null> {
    const from = [
      ...(near === undefined ? [] : [{ after: { score, text: near }, desc: false, most: SCAN_PAGE }]),
      { after: { score, text: LAST }, desc: true, most: MOST_ALIKE },
      { after: { score, text: '' }, desc: false, most: MOST_ALIKE },
    ]
    for (const { after, desc, most } of from) {
      let looked = 0
      for await (const chunk of chunksOf(this.#app.store, this.name, { after, desc })) {
        const found = chunk.find((entry) => entry.score === score && meant(entry.text))
        if (found) return this.#entry(found)
        looked += chunk.length
        if (looked >= most || chunk.at(-1)?.score !== score) break
      }
    }
    return null
  }

  /**
   * Finds the entries of these jids within about `ms` milliseconds. A jid with several entries gets its highest score.
   */
  async among(jids: ReadonlySet<string>, ms: number): Promise<Map<string, SetEntry>> {
    const found = new Map<string, SetEntry>()
    const end = performance.now() + ms
    for await (const chunk of chunksOf(this.#app.store, this.name)) {
      for (const item of chunk) {
        const isNamed = [...item.text.matchAll(JID)].some(([, jid]) => jids.has(jid as string))
        const entry = isNamed ? this.#entry(item) : undefined
        if (entry && jids.has(entry.jid) && !found.has(entry.jid)) found.set(entry.jid, entry)
      }
      if (found.size === jids.size || performance.now() > end) break
    }
    return found
  }

  /** Counts the errors of the entries, from the highest score down, within the limits. */
  errors(limits: GroupingLimits, options?: GroupingOptions): Promise<ErrorGroups> {
    return errorGroups(chunksOf(this.#app.store, this.name), limits, options)
  }

  /** Yields the entries, highest score first. It reads one page at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SetEntry> {
    yield* this.#down()
  }

  /** Moves all entries, or those that match, to their queues, and lowers the `retry_count` of each by one. */
  retryAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => addedToQueue(this.#app, this.name, entry, true))
  }

  /** Moves all entries, or those that match, to their queues, with their `retry_count` unchanged. */
  addAllToQueue(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => addedToQueue(this.#app, this.name, entry, false))
  }

  /**
   * Moves all entries, or those that match, to the dead set. It calls the death handlers only with `notify: true`.
   * @throws INVALID_OPTION for dead and finished jobs
   */
  async killAll({ notify = false, error, ...options }: SweepOptions & KillOptions = {}): Promise<BulkResult> {
    refuseEnded(this.name)
    checkOptions('jobSet.killAll', { notify }, { notify: 'flag' })
    const tell = async (entries: Entry[]) => {
      if (notify) for (const { text } of entries) await notifyDeath(this.#app, text, error)
    }
    try {
      return await forAll(this.#app, this.name, options, (entry) => killed(this.#app, entry), tell)
    } finally {
      await trimDead(this.#app)
    }
  }

  /** Deletes all entries, or those that match. */
  deleteAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => deleted(this.#app, this.name, entry))
  }

  /**
   * Deletes the jobs of a class; for an Active Job, its own class counts, too. This is slow in a large set.
   * @returns the number of deleted jobs
   */
  async deleteByClass(name: string): Promise<number> {
    let removed = 0
    for await (const { items } of walk(name, this.#scan)) {
      removed += await this.#drop(items.filter((item) => this.#entry(item).isOf(name)))
    }
    return removed
  }

  /**
   * Removes the entries that are in the set now, lowest score first, and passes each to `take`. If several callers do
   * this, each entry goes to one of them. An entry is removed first, so a crash or an error of `take` loses it.
   * @returns the number of entries passed to `take`
   */
  async popEach(take: (entry: SetEntry) => unknown): Promise<number> {
    const store = this.#app.store
    let left = await this.size()
    let taken = 0
    for (let after: Entry | undefined; left > 0; ) {
      const page = await store.jobSets.page(this.name, { ...(after ? { after } : {}), desc: false, limit: SCAN_PAGE })
      for (const item of page.slice(0, left)) {
        const entry = this.#entry(item)
        if (!(await entry.delete())) continue
        await take(entry)
        taken++
      }
      left -= page.length
      after = page.at(-1)
      if (!after) break
    }
    return taken
  }

  /** Deletes all entries, at once if possible. @returns the number of deleted entries */
  async clear(): Promise<number> {
    const store = this.#app.store
    let removed = 0
    for (;;) {
      const cleared = await store.search.clearSet(this.name, effectMembers(this.name))
      removed += cleared.removed
      removed += await this.#drop(cleared.kept)
      if (cleared.done) return removed
    }
  }

  async #drop(entries: readonly Entry[]): Promise<number> {
    const swaps = entries.map((entry) => deleted(this.#app, this.name, entry))
    const answers = await this.#app.store.jobSets.swap(this.name, swaps, this.#app.now())
    if (answers.includes('error')) throw new HighkiqError('STORE_UNUSABLE', "the store can't remove some of them")
    return answers.filter((answer) => answer === 'ok').length
  }

  async *#down(from?: Entry): AsyncGenerator<SetEntry> {
    for await (const chunk of chunksOf(this.#app.store, this.name, { after: from })) {
      for (const item of chunk) yield this.#entry(item)
    }
  }

  readonly #entry = (entry: Entry): SetEntry => new SetEntry(this.#app, this.name, entry)

  readonly #scan = (needle: string, after?: string): Promise<Scan<Entry>> =>
    this.#app.store.search.scanSet(this.name, needle, { after, limit: SCAN_PAGE })
}

/** @throws INVALID_JOB, INVALID_ARGS */
function textOf(job: NewEntry | string, client: AppPort['client']): { text: string; jid: string } {
  const text = typeof job === 'string' ? job : writeNew(job, client)
  const payload = readPayload(text)
  if (payload) checkReadable(text, payload.class)
  if (typeof payload?.jid === 'string') return { text, jid: payload.jid }
  const message = `no job: give its class, its arguments, and in a text its jid (${text.slice(0, 80)})`
  throw invalidJob(message)
}

function writeNew(job: NewEntry, client: AppPort['client']): string {
  checkValue(job, 'payload', String(job?.class), 0)
  const { at: _, enqueued_at: __, ...rest } = { queue: 'default', jid: newJid(), ...job } as Payload
  checkQueueName(rest.queue)
  const isPlain = Array.isArray(rest.args) && !isSealed(rest.args.at(-1))
  return writePayload(isPlain ? client.writer.sealed(rest as Payload) : rest, client.wire)
}

/** Returns a short cursor for the position between two entries. */
function nameOf(last: Entry, next: Entry, desc: boolean): string {
  const isCrowd = last.score === next.score
  if (desc) return `${last.score}:${isCrowd ? between(next.text, last.text) : ''}`
  const begin = isCrowd ? between(next.text, last.text) : ''
  return `${last.score}:${isCrowd && begin === last.text ? begin : begin + LAST}`
}

/** @throws INVALID_OPTION */
function cursorOf(name: string): Entry {
  const [, score, text] = /^([^:]+):(.*)$/s.exec(name) ?? []
  if (score === undefined || text === undefined || Number.isNaN(Number(score))) {
    // The cursor is not quoted, because it can hold a part of a job that the reader may not see.
    throw invalidOption('this is not a cursor: pass the next of a page', { problem: 'cursor' })
  }
  return { score: Number(score), text }
}
