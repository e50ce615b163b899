/** Removes jobs from the middle of a queue, and clears queues and sets. */

import type { Cleared, Entry, Pull, SearchStore, SetName, SwapAnswer, WaitingJob } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { readTaskQueues, tasksOf } from '../server/call.ts'
import { chunksOf } from '../server/chunks.ts'
import type { Notifier } from '../server/notifier.ts'
import { type Server, StorePart } from '../server/server.ts'
import { SWAP_ANSWERS, scoreOf } from './job-sets.ts'
import type { Search } from './search.ts'

/** The most jobs that one script removes; it begins no further job once it has passed this many texts. */
const MAX_PULLS = 100
const MAX_PASSED = 100_000
/** The most jobs that one script drops, unless it may drop everything. */
const MAX_DROPPED = 2000
const MAX_BYTES = 1_000_000
/** With more tasks than this a queue or a set is never dropped at once. */
const MAX_TASKS = 1000

export class Removal extends StorePart implements Partial<SearchStore> {
  readonly #search: Search
  readonly #due: Notifier

  /** `due`: notified when a job may be due earlier than the others. */
  constructor(server: Server, search: Search, due: Notifier) {
    super(server)
    this.#search = search
    this.#due = due
  }

  /** Searches page by page for a job that is too far away for a single script, and removes it from where it was found. */
  async pull(queue: string, items: readonly Pull[], now: number): Promise<SwapAnswer[]> {
    const answers = await this.#pull(queue, items, now)
    for (const [i, item] of items.entries()) {
      for (let at = item.at; answers[i] === 'far'; ) {
        at = await this.#find(queue, item.text, at)
        const [answer] = at === undefined ? [] : await this.#pull(queue, [{ ...item, at }], now)
        answers[i] = answer ?? 'gone'
      }
    }
    if (items.some(({ to }) => to?.to === 'schedule' || to?.to === 'retry')) this.#due.notify()
    return answers as SwapAnswer[]
  }

  async #find(queue: string, text: string, at: string | undefined): Promise<string | undefined> {
    for (let after: string | undefined; ; ) {
      const page = await this.#search.scanQueue(queue, text, {
        ...(after === undefined ? { at } : { after }),
        limit: 1,
      })
      const found = page.items.find((one) => one.text === text)
      if (found) return found.at
      if (page.next === null) return undefined
      after = page.next
    }
  }

  async #pull(queue: string, items: readonly Pull[], now: number): Promise<(SwapAnswer | 'far')[]> {
    const server = this.server
    const answers: (SwapAnswer | 'far')[] = []
    await server.loadTasks(tasksOf(items.flatMap(({ effects }) => effects ?? [])))
    for (const some of chunksOf(items, ({ text }) => 2 * text.length, MAX_PULLS)) {
      for (let done = 0; done < some.length; ) {
        const rest = some.slice(done)
        const call = server.newCall()
        call.key(server.keys.queue(queue))
        call.key(server.keys.queues)
        call.add(now, server.keys.dueChannel, MAX_PASSED, rest.length)
        for (const { text, at = '', to, effects } of rest) {
          call.add(server.texts.write(text), at)
          call.item(to, effects)
        }
        const letters = (await server.run(lua.pull, call.keys, call.args)) as string
        for (const letter of letters) answers.push(letter === 'f' ? 'far' : (SWAP_ANSWERS[letter] as SwapAnswer))
        done += letters.length
      }
    }
    return answers
  }

  async clearQueue(queue: string, needles: readonly string[], limit: number): Promise<Cleared<WaitingJob>> {
    const { removed, done, kept } = await this.#clear(this.keys.queue(queue), queue, needles, limit)
    return { removed, done, kept: kept.map(([text, at]) => ({ text, at })) }
  }

  async clearSet(set: SetName, needles: readonly string[]): Promise<Cleared<Entry>> {
    const { removed, done, kept } = await this.#clear(this.keys.set(set), '', needles, MAX_DROPPED)
    return { removed, done, kept: kept.map(([text, score]) => ({ text, score: scoreOf(score) })) }
  }

  async #clear(key: string, queue: string, needles: readonly string[], limit: number) {
    const { keys, texts } = this.server
    const headers = needles.length === 0 ? [] : await this.#headers()
    const args = [queue, headers?.length ?? -1, Math.min(limit, MAX_DROPPED), MAX_BYTES, needles.length, ...needles]
    const all = [key, keys.queues, keys.tasks, keys.crons, ...(headers ?? [])]
    const [removed, done, ...flat] = await this.server.runForBytes(lua.clear, all, args)
    const kept: [string, string][] = []
    for (let i = 0; i < flat.length; i += 2) kept.push([texts.read(flat[i] as Buffer), String(flat[i + 1])])
    return { removed: Number(removed), done: String(done) === 'yes', kept }
  }

  /** Returns the header keys of all tasks; undefined when there are too many tasks. */
  async #headers(): Promise<string[] | undefined> {
    if ((await this.server.call((client) => client.hlen(this.keys.tasks))) > MAX_TASKS) return undefined
    const places = await this.server.call((client) => client.hgetall(this.keys.tasks))
    return Object.entries(places).map(([id, place]) => this.keys.task(readTaskQueues(place).queue, id)[0])
  }
}
