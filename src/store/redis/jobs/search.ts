/**
 * Searches queues and sets page by page, removes jobs from the middle of a queue, and clears queues and sets. The server
 * compares the texts and sends only the hits.
 */

import { baseQueue, isPriorityName, priorityName, priorityOf } from '../../../job/priority.ts'
import type {
  Cleared,
  Entry,
  Pull,
  QueuesScan,
  Scan,
  ScanPage,
  SearchStore,
  SetName,
  SwapAnswer,
  WaitingJob,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { readTaskQueues } from '../server/call.ts'
import { chunksOf, pairs } from '../server/chunks.ts'
import { escapePattern } from '../server/keys.ts'
import { type Server, StorePart } from '../server/server.ts'
import { FinishedJobs } from './finished-jobs.ts'
import { entriesOf, scoreOf } from './job-sets.ts'
import type { PriorityQueues } from './priority-queues.ts'

/** The most texts, and about the most bytes, that one call compares. */
const MAX_TEXTS = 2000
const MAX_BYTES = 1_000_000
/** The most queues that one call searches. */
const MAX_QUEUES = 500
/** About how many entries one ZSCAN compares; the first one compares as many as there are hits wanted. */
const MIN_SCANNED = 10
const MAX_SCANNED = 500
const MAX_PUT_BACK = 500

/** The most jobs that one script removes; it begins no further job once it has passed this many texts. */
const MAX_PULLS = 100
const MAX_PASSED = 100_000
/** The most jobs that one script drops, unless it may drop everything. */
const MAX_DROPPED = 2000
/** With more tasks than this a queue or a set is never dropped at once. */
const MAX_TASKS = 1000

export class Search extends StorePart implements SearchStore {
  readonly #priorities: PriorityQueues
  readonly #finished: FinishedJobs

  constructor(server: Server, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
    this.#finished = new FinishedJobs(server)
  }

  /**
   * Searches priority 0 first, because newer jobs come first; the highest one first when the oldest do. Cursors and hints of
   * other lists begin with the priority. When the oldest jobs come first, so do cursors of priority 0: they are behind the
   * others.
   */
  async scanQueue(
    queue: string,
    needle: string,
    { at, after, oldestFirst = false, limit }: ScanPage,
  ): Promise<Scan<WaitingJob>> {
    const fetched = await this.#priorities.current(queue)
    const lists = oldestFirst ? fetched : fetched.toReversed()
    const prefix = (list: string) => prefixOf(list) || (oldestFirst ? 'p0;' : '')
    const start = after ?? at
    const [priority, cursor] = splitCursor(start ?? '')
    let number = start === undefined ? 0 : Math.max(lists.indexOf(priorityName(queue, priority)), 0)
    const place = cursor === '' ? {} : after === undefined ? { at: cursor } : { after: cursor }
    let scan = await this.#scanList(lists[number] as string, needle, { ...place, oldestFirst, limit })
    // A list that ends the page early is followed by the next one.
    while (scan.next === null && number + 1 < lists.length && scan.items.length < limit && scan.scanned < MAX_TEXTS) {
      const page = { oldestFirst, limit: limit - scan.items.length }
      const rest = await this.#scanList(lists[++number] as string, needle, page)
      scan = { ...rest, items: [...scan.items, ...rest.items], scanned: scan.scanned + rest.scanned }
    }
    if (scan.next === null && number + 1 < lists.length) return { ...scan, next: prefix(lists[number + 1] as string) }
    if (scan.next === null) return scan
    return { ...scan, next: prefix(lists[number] as string) + scan.next }
  }

  async #scanList(
    name: string,
    needle: string,
    { at, after = startOf(at), oldestFirst = false, limit }: ScanPage,
  ): Promise<Scan<WaitingJob>> {
    const { keys, texts } = this.server
    const [left = '', length = '', sha = ''] = after.split(':')
    const wanted = Math.min(Math.max(limit, 1), MAX_TEXTS)
    const args = [needle, oldestFirst ? 1 : 0, wanted, MAX_TEXTS, MAX_BYTES, left, length, sha]
    const answer = await this.server.runForBytes(lua.scanQueue, [keys.queue(name)], args)
    const [nowLeft, nextLength, nextSha, scanned, ...hits] = answer
    const items = pairs<Buffer, Buffer>(hits).map(([at, text]) => ({
      at: prefixOf(name) + String(at),
      text: texts.read(text),
    }))
    const isEnd = nextSha?.length === 0
    return { items, next: isEnd ? null : [nowLeft, nextLength, nextSha].join(':'), scanned: Number(scanned) }
  }

  async scanQueues(queues: readonly string[], needle: string): Promise<QueuesScan> {
    await this.#priorities.readIfOld()
    const { keys, texts } = this.server
    const asked = queues.slice(0, MAX_QUEUES)
    const lists = asked.map((queue) => this.#priorities.listsOf([queue]).toReversed())
    const all = lists.flat()
    const args = [needle, MAX_TEXTS, MAX_BYTES, ...lists.map(({ length }) => length)]
    const names = all.map((list) => keys.queue(list))
    const [sizes, ...hits] = await this.server.runForBytes(lua.scanQueues, names, args)
    const items = pairs<Buffer, Buffer>(hits).map(([place, text]) => {
      const [list, at] = String(place).split(':')
      const name = all[Number(list) - 1] as string
      return { queue: baseQueue(name), at: `${prefixOf(name)}${at}`, text: texts.read(text) }
    })
    // The lengths are numbers with commas.
    return { items, sizes: JSON.parse(`[${sizes}]`) }
  }

  /** The cursor is that of ZSCAN, which may be used again with another count. */
  async scanSet(set: SetName, needle: string, { after = '0', limit }: ScanPage): Promise<Scan<Entry>> {
    if (set === 'finished') await this.#finished.unpack()
    const key = this.keys.set(set)
    const pattern = `*${escapePattern(needle)}*`
    const items: Entry[] = []
    let cursor = after
    let scanned = 0
    let count = Math.min(Math.max(limit, MIN_SCANNED), MAX_SCANNED)
    do {
      const [next, flat] = await this.server.call((client) =>
        client.zscanBuffer(key, cursor, 'MATCH', pattern, 'COUNT', count),
      )
      items.push(...entriesOf(flat, this.server.texts))
      cursor = String(next)
      scanned += count
      // Without a hit so far the next step is larger.
      if (items.length === 0) count = Math.min(count * 2, MAX_SCANNED)
    } while (cursor !== '0' && items.length < limit && scanned < MAX_TEXTS)
    return { items, next: cursor === '0' ? null : cursor, scanned }
  }

  /** Searches page by page for a job that is too far away for a single script, and removes it from where it was found. */
  async pull(queue: string, items: readonly Pull[], now: number): Promise<SwapAnswer[]> {
    const lists = await this.#priorities.current(queue)
    if (lists.length === 1) return this.#pullFrom(queue, items, now)
    const answers = items.map((): SwapAnswer => 'gone')
    for (const list of lists) {
      const asked = items.flatMap((item, i) => {
        const [priority, at] = splitCursor(item.at ?? '')
        const isMeant = item.at === undefined || priority === priorityOf(list)
        return isMeant && answers[i] === 'gone' ? [{ i, item: { ...item, at: at || undefined } }] : []
      })
      const some = asked.map(({ item }) => item)
      for (const [n, answer] of (await this.#pullFrom(list, some, now)).entries()) {
        answers[(asked[n] as { i: number }).i] = answer
      }
    }
    return answers
  }

  async #pullFrom(queue: string, items: readonly Pull[], now: number): Promise<SwapAnswer[]> {
    const answers = await this.#pull(queue, items, now)
    for (const [i, item] of items.entries()) {
      for (let at = item.at; answers[i] === 'far'; ) {
        at = await this.#find(queue, item.text, at)
        const [answer] = at === undefined ? [] : await this.#pull(queue, [{ ...item, at }], now)
        answers[i] = answer ?? 'gone'
      }
    }
    if (items.some(({ to }) => to?.to === 'schedule' || to?.to === 'retry')) this.server.due.notify()
    this.#priorities.pushed(
      items.flatMap(({ to }) => (to?.to === 'queue' && isPriorityName(to.queue) ? [to.queue] : [])),
    )
    return answers as SwapAnswer[]
  }

  async #find(queue: string, text: string, at: string | undefined): Promise<string | undefined> {
    for (let after: string | undefined; ; ) {
      const page = await this.#scanList(queue, text, { ...(after === undefined ? { at } : { after }), limit: 1 })
      const found = page.items.find((one) => one.text === text)
      if (found) return splitCursor(found.at)[1]
      if (page.next === null) return undefined
      after = page.next
    }
  }

  async #pull(queue: string, items: readonly Pull[], now: number): Promise<(SwapAnswer | 'far')[]> {
    const answers: (SwapAnswer | 'far')[] = []
    for (const some of chunksOf(items, ({ text }) => 2 * text.length, MAX_PULLS)) {
      for (let done = 0; done < some.length; ) {
        const rest = some.slice(done)
        const moved = await this.server.moveJobs<'far'>(lua.pull, now, [this.keys.queue(queue)], rest, (call) => {
          call.add(MAX_PASSED, rest.length)
          for (const { text, at = '', to, effects } of rest) {
            call.add(this.server.texts.write(text), at)
            call.item(to, effects)
          }
        })
        answers.push(...moved)
        done += moved.length
      }
    }
    return answers
  }

  async clearQueue(queue: string, needles: readonly string[], limit: number): Promise<Cleared<WaitingJob>> {
    const all: Cleared<WaitingJob> = { removed: 0, kept: [], done: true }
    for (const list of await this.#priorities.current(queue)) {
      const left = Math.max(limit - all.removed - all.kept.length, 0)
      const { removed, done, kept } = await this.#clear(this.keys.queue(list), list, needles, left)
      all.removed += removed
      all.kept.push(...kept.map(([text, at]) => ({ text, at: prefixOf(list) + at })))
      all.done &&= done
    }
    return all
  }

  async clearSet(set: SetName, needles: readonly string[]): Promise<Cleared<Entry>> {
    if (set === 'finished') await this.#finished.unpack()
    const { removed, done, kept } = await this.#clear(this.keys.set(set), '', needles, MAX_DROPPED)
    return { removed, done, kept: kept.map(([text, score]) => ({ text, score: scoreOf(score) })) }
  }

  async #clear(key: string, queue: string, needles: readonly string[], limit: number) {
    const { keys, texts } = this.server
    const headers = needles.length === 0 ? [] : await this.#headers()
    const args = [queue, headers?.length ?? -1, Math.min(limit, MAX_DROPPED), MAX_BYTES, needles.length, ...needles]
    const { queues, tasks, crons, unique, openBatches } = keys
    const all = [key, queues, tasks, crons, unique, openBatches, ...(headers ?? [])]
    const [removed, done, ...flat] = await this.server.runForBytes(lua.clear, all, args)
    const kept = pairs<Buffer, Buffer>(flat).map(([text, at]) => [texts.read(text), String(at)] as const)
    return { removed: Number(removed), done: String(done) === 'yes', kept }
  }

  /** Returns the header keys of all tasks; undefined when there are too many tasks. */
  async #headers(): Promise<string[] | undefined> {
    if ((await this.server.call((client) => client.hlen(this.keys.tasks))) > MAX_TASKS) return undefined
    const queues = await this.server.call((client) => client.hgetall(this.keys.tasks))
    return Object.entries(queues).map(([id, value]) => this.keys.task(readTaskQueues(value).queue, id)[0])
  }
}

function prefixOf(list: string): string {
  return isPriorityName(list) ? `p${priorityOf(list)};` : ''
}

/** Returns the priority that a cursor or a hint belongs to, and the rest of it. */
function splitCursor(cursor: string): [priority: number, rest: string] {
  const [, priority, rest] = /^p([0-9]);(.*)$/.exec(cursor) ?? []
  return priority === undefined ? [0, cursor] : [Number(priority), rest as string]
}

/**
 * Returns where a search for a job begins. Jobs that were put back to the front since have moved the job away from
 * the tail, so the search begins at some newer jobs.
 */
function startOf(at: string | undefined): string {
  return at === undefined ? '' : `${Number(at) + 1 + MAX_PUT_BACK}::`
}
