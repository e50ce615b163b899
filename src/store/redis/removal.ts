/** Taking jobs out of the middle of a queue, and clearing queues and sets. */

import type { Cleared, Entry, Pull, SetName, SwapAnswer, WaitingJob } from '../contract.ts'
import { readPlace, tasksOf } from './call.ts'
import { lua } from './lua.generated.ts'
import { pieces } from './queues.ts'
import type { Search } from './search.ts'
import type { Server } from './server.ts'
import { ANSWERS, scoreOf } from './sets.ts'

/** One script does no more; it passes by so many texts until it takes no further job on. */
const MOST_PULLS = 100
const MOST_PASSED = 100_000
/** One script drops no more, unless it may drop everything. */
const MOST_DROPPED = 2000
const MOST_BYTES = 1_000_000
/** Tasks that are looked at before a queue or a set is dropped at once. */
const MOST_TASKS = 1000

export class Removal {
  readonly #server: Server
  readonly #search: Search

  constructor(server: Server, search: Search) {
    this.#server = server
    this.#search = search
  }

  /** Finds a job that is too far away for a single script page by page, and pulls it from that place. */
  async pull(queue: string, items: readonly Pull[], now: number): Promise<SwapAnswer[]> {
    const answers = await this.#pull(queue, items, now)
    for (const [i, item] of items.entries()) {
      for (let at = item.at; answers[i] === 'far'; ) {
        at = await this.#find(queue, item.text, at)
        const [answer] = at === undefined ? [] : await this.#pull(queue, [{ ...item, at }], now)
        answers[i] = answer ?? 'gone'
      }
    }
    return answers as SwapAnswer[]
  }

  async #find(queue: string, text: string, at: string | undefined): Promise<string | undefined> {
    for (let after: string | undefined; ; ) {
      const page = await this.#search.queue(queue, text, { ...(after === undefined ? { at } : { after }), limit: 1 })
      const found = page.items.find((one) => one.text === text)
      if (found) return found.at
      if (page.next === null) return undefined
      after = page.next
    }
  }

  async #pull(queue: string, items: readonly Pull[], now: number): Promise<(SwapAnswer | 'far')[]> {
    const server = this.#server
    const answers: (SwapAnswer | 'far')[] = []
    await server.learn(tasksOf(items.flatMap(({ effects }) => effects ?? [])))
    const main = await server.ready()
    for (const some of pieces(items, ({ text }) => 2 * text.length, MOST_PULLS)) {
      for (let done = 0; done < some.length; ) {
        const rest = some.slice(done)
        const call = server.call()
        call.key(server.keys.queue(queue))
        call.key(server.keys.queues)
        call.add(now, server.keys.wake, MOST_PASSED, rest.length)
        for (const { text, at = '', to, effects } of rest) {
          call.add(server.texts.write(text), at)
          call.item(to, queue, effects)
        }
        const [letters] = (await main.run(lua.pull, call.keys, call.args)) as [string, string]
        for (const letter of letters) answers.push(letter === 'f' ? 'far' : (ANSWERS[letter] as SwapAnswer))
        done += letters.length
      }
    }
    return answers
  }

  async clearQueue(queue: string, marks: readonly string[], most: number): Promise<Cleared<WaitingJob>> {
    const { removed, done, met } = await this.#clear(this.#server.keys.queue(queue), queue, marks, most)
    return { removed, done, kept: met.map(([text, at]) => ({ text, at })) }
  }

  async clearSet(set: SetName, marks: readonly string[]): Promise<Cleared<Entry>> {
    const { removed, done, met } = await this.#clear(this.#server.keys.set(set, ''), '', marks, MOST_DROPPED)
    return { removed, done, kept: met.map(([text, score]) => ({ text, score: scoreOf(score) })) }
  }

  async #clear(key: string, queue: string, marks: readonly string[], most: number) {
    const { keys, texts } = this.#server
    const headers = marks.length === 0 ? [] : await this.#headers()
    const main = await this.#server.ready()
    const args = [queue, headers?.length ?? -1, Math.min(most, MOST_DROPPED), MOST_BYTES, marks.length, ...marks]
    const all = [key, keys.queues, keys.tasks, keys.crons, ...(headers ?? [])]
    const [removed, done, ...flat] = await main.runForBytes(lua.clear, all, args)
    const met: [string, string][] = []
    for (let i = 0; i < flat.length; i += 2) met.push([texts.read(flat[i] as Buffer), String(flat[i + 1])])
    return { removed: Number(removed), done: String(done) === 'yes', met }
  }

  /** Of all tasks; undefined when there are too many. */
  async #headers(): Promise<string[] | undefined> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    if ((await main.call((client) => client.hlen(keys.tasks))) > MOST_TASKS) return undefined
    const places = await main.call((client) => client.hgetall(keys.tasks))
    return Object.entries(places).map(([id, place]) => keys.task(readPlace(place).queue, id)[0])
  }
}
