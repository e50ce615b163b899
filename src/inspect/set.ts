import type { AppPort } from '../app/port.ts'
import { checkReadable, checkValue } from '../job/args.ts'
import { between } from '../job/between.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { HighkiqError } from '../job/errors.ts'
import { checkText } from '../job/options.ts'
import { newJid, type Payload, readPayload, type Wire, writePayload } from '../job/payload.ts'
import type { Entry, ScanPage, SetName } from '../store/contract.ts'
import { deleted, EFFECT_MEMBERS, killed, notifyDeath, requeued, trimDead } from './actions.ts'
import { type BulkResult, forAll, type SweepOptions } from './bulk.ts'
import { chunksOf, ScanBudget } from './chunks.ts'
import { type KillOptions, refuseDead, SetEntry } from './entry.ts'
import { type ErrorGroups, errorGroups, type GroupingLimits, type GroupingOptions } from './error-groups.ts'
import { type Search, searchOf } from './pattern.ts'
import { findByJid, PAGE, type Page, type PageOptions, scanFor, walk } from './walk.ts'

const BATCH = 100
/** Behind every text. */
const LAST = '\u{10ffff}'
/** A search looks at about so many, and no longer than this. */
const MOST_SEARCHED = 20_000
const SEARCH_MS = 150
/** Of one score that many share, so many from each end are looked at without more being known. */
const MOST_ALIKE = 2000
/** What may be a jid. */
const JID = /"jid"\s*:\s*"([^"\\]*)"/g

/** A job that is put into a set. */
export type NewEntry = Pick<Payload, 'class' | 'args'> & Partial<Payload>

/**
 * `hq.retries`, `hq.scheduled`, `hq.dead`: jobs that are not in a queue, by score (when they are due, or when they died).
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

  /** The job with this jid; null when there is none. It may take a while in a large set. */
  async find(jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<SetEntry | null> {
    checkText(`${this.name}: a jid`, jid)
    const read = (needle: string, after?: string) =>
      this.#app.store.search.scanSet(this.name, needle, { after, limit: BATCH })
    return findByJid(jid, read, (item) => this.#entry(item), signal)
  }

  /**
   * Puts a job into this set, as it is: it passes no client middleware, and nobody is told. Without a jid or a queue it
   * gets them; given as a text it stays what it is, byte for byte.
   * @param at a Date, `'5m'`, `{ minutes: 5 }`, or seconds (below 1e9 from now): when it is due, or when it died
   * @returns its id
   * @throws INVALID_JOB, INVALID_ARGS, INVALID_OPTION
   */
  async schedule(at: Date | number | Duration, job: NewEntry | string): Promise<string> {
    const app = this.#app
    const { text, jid } = textOf(job, app.client.wire)
    const score = dueAt(at, app.now())
    await app.store.jobs.push([{ to: this.name, text, score }], app.now())
    if (this.name === 'dead') await trimDead(app)
    return jid
  }

  /** The entries of a score, or between two (both included), highest first; those of a jid alone if there is one. */
  async fetch(score: number | readonly [from: number, to: number], jid?: string): Promise<SetEntry[]> {
    const [from, to] = typeof score === 'number' ? [score, score] : score
    if (!(from <= to)) throw new HighkiqError('INVALID_OPTION', `from ${from} to ${to} is no range of scores`)
    const found: SetEntry[] = []
    for await (const entry of this.#down({ score: to, text: LAST })) {
      if (entry.score < from) break
      if (jid === undefined || entry.jid === jid) found.push(entry)
    }
    return found
  }

  /**
   * Entries whose text matches, in any order; an entry may come twice when the set changes. A pattern without `*` is
   * looked for anywhere, as it stands; with one it is for the whole text, as in Redis (`*`, `?`, `[a-z]`, `\`).
   * A call looks at a bounded number, so it may find nothing and go on all the same.
   */
  scan(pattern: string, options: PageOptions = {}): Promise<Page<SetEntry> & { scanned: number }> {
    const read = (needle: string, page: ScanPage) => this.#app.store.search.scanSet(this.name, needle, page)
    return scanFor(searchOf(pattern), options, read, (item) => this.#entry(item))
  }

  /** A page from the highest score down, or with `desc: false` from the lowest up. @throws INVALID_OPTION */
  async page({ after, limit = PAGE, desc = true }: PageOptions & { desc?: boolean } = {}): Promise<Page<SetEntry>> {
    const cursor = after ? cursorOf(after) : undefined
    const about = { ...(cursor ? { after: cursor } : {}), desc, limit: limit + 1 }
    const entries = await this.#app.store.jobSets.page(this.name, about)
    const [last, next] = entries.slice(limit - 1)
    return {
      items: entries.slice(0, limit).map((item) => this.#entry(item)),
      next: last && next ? nameOf(last, next, desc) : null,
    }
  }

  /**
   * A page of those that are meant (see `filterOf`), in order. A call looks at a bounded number, so it may find nothing
   * and go on all the same. @throws INVALID_OPTION
   */
  async search(
    { matches }: Search,
    { after, limit = PAGE, desc = true }: PageOptions & { desc?: boolean } = {},
  ): Promise<Page<SetEntry> & { scanned: number }> {
    const store = this.#app.store
    const items: SetEntry[] = []
    const looked = new ScanBudget({ most: MOST_SEARCHED, ms: SEARCH_MS })
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
   * The entry of this score that is meant; null when there is none. Of a score that very many share it is found near
   * where its text begins with `near`, else among the first and the last of them.
   */
  async entryAt(score: number, meant: (text: string) => boolean, near?: string): Promise<SetEntry | null> {
    const from = [
      ...(near === undefined ? [] : [{ after: { score, text: near }, desc: false, most: BATCH }]),
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

  /** Those of these jids that are found in so many ms, each once: the one of the highest score. */
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

  /** What the jobs in it failed of, from the highest score down, as far as the limits let look. */
  errors(limits: GroupingLimits, options?: GroupingOptions): Promise<ErrorGroups> {
    return errorGroups(chunksOf(this.#app.store, this.name), limits, options)
  }

  /** From the highest score down, a page at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SetEntry> {
    yield* this.#down()
  }

  /** Sends all to their queues, each retry taken off its count. */
  retryAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => requeued(this.#app, entry, true))
  }

  /** Sends all to their queues as they are. */
  addAllToQueue(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => requeued(this.#app, entry, false))
  }

  /** Puts all into the dead set; death handlers hear of it only with `notify: true`. @throws INVALID_OPTION of the dead set */
  async killAll({ notify = false, error, ...options }: SweepOptions & KillOptions = {}): Promise<BulkResult> {
    refuseDead(this.name)
    const tell = async (entries: Entry[]) => {
      if (notify) for (const { text } of entries) await notifyDeath(this.#app, text, error)
    }
    try {
      return await forAll(this.#app, this.name, options, (entry) => killed(this.#app, entry), tell)
    } finally {
      await trimDead(this.#app)
    }
  }

  /** Deletes all, or those that match. */
  deleteAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#app, this.name, options, (entry) => deleted(this.#app, this.name, entry))
  }

  /** Deletes the jobs of a class; of Active Jobs their own. It may take a while in a large set. @returns how many */
  async deleteByClass(name: string): Promise<number> {
    const store = this.#app.store
    const read = (needle: string, after?: string) => store.search.scanSet(this.name, needle, { after, limit: BATCH })
    let removed = 0
    for await (const { items } of walk(name, read)) {
      removed += await this.#drop(items.filter((item) => this.#entry(item).isOf(name)))
    }
    return removed
  }

  /**
   * Takes out what is in the set now, lowest score first, and hands over each entry: of several who do this each entry
   * goes to one. It is gone before it is handed over, so a crash in between, or an error of `take`, loses it.
   * @returns how many were handed over
   */
  async popEach(take: (entry: SetEntry) => unknown): Promise<number> {
    const store = this.#app.store
    let left = await this.size()
    let taken = 0
    for (let after: Entry | undefined; left > 0; ) {
      const page = await store.jobSets.page(this.name, { ...(after ? { after } : {}), desc: false, limit: BATCH })
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

  /** Deletes everything, at once where that can be. @returns how many */
  async clear(): Promise<number> {
    const store = this.#app.store
    let removed = 0
    for (;;) {
      const cleared = await store.search.clearSet(this.name, this.name === 'dead' ? [] : EFFECT_MEMBERS)
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

  #entry(entry: Entry): SetEntry {
    return new SetEntry(this.#app, this.name, entry)
  }
}

/** @throws INVALID_JOB, INVALID_ARGS */
function textOf(job: NewEntry | string, wire: Wire): { text: string; jid: string } {
  const text = typeof job === 'string' ? job : writeNew(job, wire)
  const payload = readPayload(text)
  if (payload) checkReadable(text, payload.class)
  if (typeof payload?.jid === 'string') return { text, jid: payload.jid }
  throw new HighkiqError(
    'INVALID_JOB',
    `no job: give its class, its arguments, and in a text its jid (${text.slice(0, 80)})`,
  )
}

function writeNew(job: NewEntry, wire: Wire): string {
  checkValue(job, 'payload', String(job?.class), 0)
  const { at: _, enqueued_at: __, ...rest } = { queue: 'default', jid: newJid(), ...job } as Payload
  checkQueueName(rest.queue)
  return writePayload(rest, wire)
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
    throw new HighkiqError('INVALID_OPTION', `${JSON.stringify(name)} is not a cursor: pass the next of a page`)
  }
  return { score: Number(score), text }
}
