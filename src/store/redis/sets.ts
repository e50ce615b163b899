/** Jobs that are not in a queue: retry, schedule, dead. */

import type { Entry, SetName, Swap, SwapAnswer } from '../contract.ts'
import { tasksOf } from './call.ts'
import type { Reply } from './connection.ts'
import { lua } from './lua.generated.ts'
import { pieces } from './queues.ts'
import type { Server } from './server.ts'

/** One script moves, and one command removes, no more. */
const MOST_SWAPS = 100
const MOST_TRIMMED = 1000

export const ANSWERS: Record<string, SwapAnswer> = { o: 'ok', g: 'gone', e: 'error' }

export class Sets {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }> {
    const key = this.#key(set)
    const main = await this.#server.ready()
    const entries = this.#entries(
      await main.call((client) => client.zrangebyscoreBuffer(key, '-inf', now / 1000, 'WITHSCORES', 'LIMIT', 0, limit)),
    )
    const [next] = this.#entries(
      await main.call((client) =>
        client.zrangeBuffer(key, String(entries.length), String(entries.length), 'WITHSCORES'),
      ),
    )
    return { entries, next: next?.score ?? null }
  }

  async swap(set: SetName, swaps: readonly Swap[], now: number): Promise<SwapAnswer[]> {
    const server = this.#server
    const answers: SwapAnswer[] = []
    await server.learn(tasksOf(swaps.flatMap(({ effects }) => effects ?? [])))
    const main = await server.ready()
    for (const some of pieces(swaps, ({ text }) => 2 * text.length, MOST_SWAPS)) {
      const call = server.call()
      call.key(this.#key(set))
      call.key(server.keys.queues)
      call.add(now, server.keys.wake, some.length)
      for (const { text, score, to, effects } of some) {
        call.add(server.texts.write(text), score)
        call.item(to, '', effects)
      }
      const [letters] = (await main.run(lua.swap, call.keys, call.args)) as [string, string]
      for (const letter of letters) answers.push(ANSWERS[letter] as SwapAnswer)
    }
    return answers
  }

  async size(set: SetName): Promise<number> {
    const main = await this.#server.ready()
    return main.call((client) => client.zcard(this.#key(set)))
  }

  async page(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    return this.pageOf(this.#key(set), page)
  }

  /** A page of any sorted set, in the order of (score, text). */
  async pageOf(key: string, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    const { after, desc = false, limit } = page
    if (limit <= 0) return []
    const main = await this.#server.ready()
    if (after) {
      const args = [after.score, this.#server.texts.write(after.text), desc ? 'desc' : '', limit]
      return this.#entries(await main.runForBytes(lua.setPage, [key], args))
    }
    return this.#entries(
      await main.call((client) =>
        desc
          ? client.zrevrangeBuffer(key, 0, limit - 1, 'WITHSCORES')
          : client.zrangeBuffer(key, '0', String(limit - 1), 'WITHSCORES'),
      ),
    )
  }

  async trim(set: SetName, max: number, since: number): Promise<void> {
    const key = this.#key(set)
    const main = await this.#server.ready()
    const args = [max, since, MOST_TRIMMED]
    while (((await main.run(lua.trim, [key], args)) as number) === MOST_TRIMMED);
  }

  #key(set: SetName): string {
    return this.#server.keys.set(set, '')
  }

  #entries(flat: readonly (Buffer | Reply)[]): Entry[] {
    const entries: Entry[] = []
    for (let i = 0; i < flat.length; i += 2) {
      entries.push({ text: this.#server.texts.read(flat[i] as Buffer), score: scoreOf(String(flat[i + 1])) })
    }
    return entries
  }
}

/** As Redis writes them: `inf`, too. */
export function scoreOf(text: string): number {
  return Number(text.replace('inf', 'Infinity'))
}
