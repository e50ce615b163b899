/** The sorted sets of jobs that are not in a queue. */

import { readPayload } from '../../../job/payload.ts'
import { queueOfJob } from '../../../job/priority.ts'
import type { Entry, JobSetStore, SetName, Swap, SwapAnswer } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { chunksOf, IN_ORDER, pairs } from '../server/chunks.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Texts } from '../server/texts.ts'
import { FinishedJobs } from './finished-jobs.ts'

/** The most entries that one script moves, and that one removes. */
const MAX_SWAPS = 100
const MAX_PRUNED = 1000
/** About the most finished jobs, and their bytes, that one script searches for a jid. */
const MAX_COMPARED = 5000
const MAX_COMPARED_BYTES = 2_000_000

export class JobSets extends StorePart implements JobSetStore {
  readonly #finished: FinishedJobs

  constructor(server: Server) {
    super(server)
    this.#finished = new FinishedJobs(server)
  }

  async due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }> {
    const { server } = this
    const key = this.keys.set(set)
    const nextFrom = async (at: number) => {
      const [entry] = pairs(await server.call((client) => client.zrange(key, String(at), String(at), 'WITHSCORES')))
      return entry ? scoreOf(String(entry[1])) : null
    }
    // Mostly nothing is due.
    const first = await nextFrom(0)
    if (first === null || first > now / 1000) return { entries: [], next: first }
    const due = await server.call((client) =>
      client.zrangebyscoreBuffer(key, '-inf', now / 1000, 'WITHSCORES', 'LIMIT', 0, limit),
    )
    const entries = entriesOf(due, server.texts)
    return { entries, next: await nextFrom(entries.length) }
  }

  async swap(set: SetName, swaps: readonly Swap[], now: number): Promise<SwapAnswer[]> {
    if (set === 'finished') await this.#finished.unpack()
    const answers: SwapAnswer[] = []
    const isLimited = set.startsWith('limited:')
    const keys = [this.keys.set(set), this.keys.limitedQueues]
    const toFront = swaps.some(({ to }) => to?.to === 'queue' && to.end === 'front')
    const [most, length] = toFront ? [IN_ORDER.count, IN_ORDER.length] : [MAX_SWAPS]
    for (const some of chunksOf(swaps, ({ text }) => 2 * text.length, most, length)) {
      const moved = await this.server.moveJobs(lua.swap, now, keys, some, (call) => {
        call.add(isLimited ? 1 : 0, some.length)
        for (const { text, score, to, effects } of some) {
          call.add(this.server.texts.write(text), score, isLimited ? queueOfJob(text) : '')
          call.item(to, effects)
        }
      })
      answers.push(...moved)
    }
    return answers
  }

  waitUntilDue(ms: number, signal: AbortSignal): Promise<void> {
    return this.server.due.wait(ms, signal)
  }

  async size(set: SetName): Promise<number> {
    if (set === 'finished') return this.#finished.size()
    return this.server.call((client) => client.zcard(this.keys.set(set)))
  }

  async page(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    if (set === 'finished') await this.#finished.unpack()
    return this.pageOf(this.keys.set(set), page)
  }

  async findFinished(jid: string): Promise<Entry | null> {
    await this.#finished.unpack()
    const key = this.keys.set('finished')
    for (let from: [score: string, passed: string] = ['+inf', '0']; from[0] !== ''; ) {
      const args = [JSON.stringify(jid), ...from, MAX_COMPARED, MAX_COMPARED_BYTES]
      const [score, passed, ...flat] = await this.server.runForBytes(lua.finishedFind, [key], args)
      for (const [score, text] of pairs<Buffer, Buffer>(flat)) {
        const entry = { text: this.server.texts.read(text), score: scoreOf(String(score)) }
        if (readPayload(entry.text)?.jid === jid) return entry
      }
      from = [String(score), String(passed)]
    }
    return null
  }

  /** Returns a page of any sorted set, ordered by (score, text). */
  async pageOf(key: string, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    const { after, desc = false, limit } = page
    if (limit <= 0) return []
    const from = after ? [after.score, this.server.texts.write(after.text)] : []
    const [entries] = await this.server.runForBytes(lua.page, [key], [desc ? 'desc' : '', limit, ...from])
    return entriesOf(entries as unknown as Buffer[], this.server.texts)
  }

  async prune(set: SetName, max: number, from: number, needle = ''): Promise<string[]> {
    const since = from - (await this.server.clockAhead()) / 1000
    const found: string[] = []
    if (set === 'finished') {
      await this.#finished.prune(max, since)
      return found
    }
    for (;;) {
      const args = [max, since, MAX_PRUNED, needle]
      const [removed, ...texts] = await this.server.runForBytes(lua.pruneSet, [this.keys.set(set)], args)
      for (const text of texts) found.push(this.server.texts.read(text))
      if (Number(removed) < MAX_PRUNED) return found
    }
  }
}

/** Reads entries of a set with their scores. */
export function entriesOf(flat: readonly unknown[], texts: Texts): Entry[] {
  return pairs<Buffer, Buffer>(flat).map(([text, score]) => ({ text: texts.read(text), score: scoreOf(String(score)) }))
}

/** Reads a score as Redis writes it, also `inf`. */
export function scoreOf(text: string): number {
  return Number(text.replace('inf', 'Infinity'))
}
