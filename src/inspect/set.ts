import { between } from '../job/between.ts'
import { HighkiqError } from '../job/errors.ts'
import type { Entry, Scan, SetName } from '../store/contract.ts'
import { deleted, killed, requeued, tellDeath, trimDead } from './acts.ts'
import { type BulkResult, forAll, type SweepOptions } from './bulk.ts'
import { type KillOptions, refuseDead, SetEntry } from './entry.ts'
import { type Host, MARKS, PAGE, type Page, type PageOptions } from './host.ts'
import { searchOf } from './pattern.ts'

/** One scan looks at about so many, and then says where to go on. */
const MOST_SCANNED = 20_000
const BATCH = 100
/** Behind every text. */
const LAST = '\u{10ffff}'

/**
 * `hq.retries`, `hq.scheduled`, `hq.dead`: jobs that are not in a queue, by score (when they are due, or when they died).
 *
 * @example for await (const entry of hq.retries) if (entry.errorClass === 'TypeError') await entry.kill()
 */
export class JobSet implements AsyncIterable<SetEntry> {
  readonly name: SetName
  readonly #host: Host

  constructor(host: Host, name: SetName) {
    this.#host = host
    this.name = name
  }

  size(): Promise<number> {
    return this.#host.store().size(this.name)
  }

  /** The job with this jid; null when there is none. It may take a while in a large set. */
  async find(jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<SetEntry | null> {
    const needle = JSON.stringify(jid).slice(1, -1)
    let after: string | undefined
    do {
      signal?.throwIfAborted()
      const { items, next } = await this.#host.store().scanSet(this.name, needle, { after, limit: BATCH })
      for (const entry of items.map((item) => this.#entry(item))) if (entry.jid === jid) return entry
      after = next ?? undefined
    } while (after !== undefined)
    return null
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
  async scan(
    pattern: string,
    { after, limit = PAGE }: PageOptions = {},
  ): Promise<Page<SetEntry> & { scanned: number }> {
    const { needle, matches } = searchOf(pattern)
    const answer = { items: [] as SetEntry[], next: after ?? null, scanned: 0 }
    do {
      const page: Scan<Entry> = await this.#host
        .store()
        .scanSet(this.name, needle, { after: answer.next ?? undefined, limit: limit - answer.items.length })
      for (const item of page.items) if (matches(item.text)) answer.items.push(this.#entry(item))
      answer.next = page.next
      answer.scanned += page.scanned
    } while (answer.next !== null && answer.items.length < limit && answer.scanned < MOST_SCANNED)
    return answer
  }

  /** A page from the highest score down, or with `desc: false` from the lowest up. @throws INVALID_OPTION */
  async page({ after, limit = PAGE, desc = true }: PageOptions & { desc?: boolean } = {}): Promise<Page<SetEntry>> {
    const place = after ? placeOf(after) : undefined
    const about = { ...(place ? { after: place } : {}), desc, limit: limit + 1 }
    const entries = await this.#host.store().entries(this.name, about)
    const [last, next] = entries.slice(limit - 1)
    return {
      items: entries.slice(0, limit).map((item) => this.#entry(item)),
      next: last && next ? nameOf(last, next, desc) : null,
    }
  }

  /** From the highest score down, a page at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SetEntry> {
    yield* this.#down()
  }

  /** Sends all to their queues, each retry taken off its count. */
  retryAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#host, this.name, options, (entry) => requeued(this.#host, entry, true))
  }

  /** Sends all to their queues as they are. */
  addAllToQueue(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#host, this.name, options, (entry) => requeued(this.#host, entry, false))
  }

  /** Puts all into the dead set; death handlers hear of it only with `notify: true`. @throws INVALID_OPTION of the dead set */
  async killAll({ notify = false, error, ...options }: SweepOptions & KillOptions = {}): Promise<BulkResult> {
    refuseDead(this.name)
    const tell = async (entries: Entry[]) => {
      if (notify) for (const { text } of entries) await tellDeath(this.#host, text, error)
    }
    try {
      return await forAll(this.#host, this.name, options, (entry) => killed(this.#host, entry), tell)
    } finally {
      await trimDead(this.#host)
    }
  }

  /** Deletes all, or those that match. */
  deleteAll(options: SweepOptions = {}): Promise<BulkResult> {
    return forAll(this.#host, this.name, options, (entry) => deleted(this.#host, this.name, entry))
  }

  /** Deletes everything, at once where that can be. @returns how many */
  async clear(): Promise<number> {
    const store = this.#host.store()
    let removed = 0
    for (;;) {
      const cleared = await store.clearSet(this.name, this.name === 'dead' ? [] : MARKS)
      removed += cleared.removed
      const swaps = cleared.met.map((entry) => deleted(this.#host, this.name, entry))
      const answers = await store.swap(this.name, swaps, this.#host.now())
      removed += answers.filter((answer) => answer === 'ok').length
      if (answers.includes('error')) throw new HighkiqError('STORE_UNUSABLE', "the store can't remove some of them")
      if (cleared.done) return removed
    }
  }

  async *#down(from?: Entry): AsyncGenerator<SetEntry> {
    let after = from
    for (;;) {
      const page = await this.#host
        .store()
        .entries(this.name, { ...(after ? { after } : {}), desc: true, limit: BATCH })
      for (const item of page) yield this.#entry(item)
      after = page.at(-1)
      if (page.length < BATCH) return
    }
  }

  #entry(entry: Entry): SetEntry {
    return new SetEntry(this.#host, this.name, entry)
  }
}

/** A short name of the place between two entries. */
function nameOf(last: Entry, next: Entry, desc: boolean): string {
  const isCrowd = last.score === next.score
  if (desc) return `${last.score}:${isCrowd ? between(next.text, last.text) : ''}`
  const begin = isCrowd ? between(next.text, last.text) : ''
  return `${last.score}:${isCrowd && begin === last.text ? begin : begin + LAST}`
}

/** @throws INVALID_OPTION */
function placeOf(name: string): Entry {
  const [, score, text] = /^([^:]+):(.*)$/s.exec(name) ?? []
  if (score === undefined || text === undefined || Number.isNaN(Number(score))) {
    throw new HighkiqError('INVALID_OPTION', `${JSON.stringify(name)} is no place in a list: use the next of a page`)
  }
  return { score: Number(score), text }
}
