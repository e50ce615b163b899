/** Searching queues and sets: a page at a time, in the server, which answers nothing but the hits. */

import type { Entry, Scan, ScanPage, SetName, WaitingJob } from '../contract.ts'
import { escapePattern } from './keys.ts'
import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'
import { scoreOf } from './sets.ts'

/** One call looks at no more. */
const MOST_TEXTS = 2000
const MOST_BYTES = 1_000_000
/** One ZSCAN looks at about so many, at first as many as hits are wanted. */
const FEWEST_SCANNED = 10
const MOST_SCANNED = 500
const MOST_PUT_BACK = 500

export class Search {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async queue(name: string, needle: string, { at, after = placeOf(at), limit }: ScanPage): Promise<Scan<WaitingJob>> {
    const { keys, texts } = this.#server
    const [left = '', length = '', sha = ''] = after.split(':')
    const main = await this.#server.ready()
    const wanted = Math.min(Math.max(limit, 1), MOST_TEXTS)
    const args = [needle, wanted, MOST_TEXTS, MOST_BYTES, left, length, sha]
    const [nowLeft, nextLength, nextSha, scanned, ...hits] = await main.runForBytes(
      lua.scanQueue,
      [keys.queue(name)],
      args,
    )
    const items: WaitingJob[] = []
    for (let i = 0; i < hits.length; i += 2) {
      items.push({ at: String(hits[i]), text: texts.read(hits[i + 1] as Buffer) })
    }
    const isEnd = nextSha?.length === 0
    return { items, next: isEnd ? null : [nowLeft, nextLength, nextSha].join(':'), scanned: Number(scanned) }
  }

  /** The cursor is Redis's own, which may be asked again with another count. */
  async set(set: SetName, needle: string, { after = '0', limit }: ScanPage): Promise<Scan<Entry>> {
    const { keys, texts } = this.#server
    const main = await this.#server.ready()
    const key = keys.set(set, '')
    const pattern = `*${escapePattern(needle)}*`
    const items: Entry[] = []
    let cursor = after
    let scanned = 0
    let count = Math.min(Math.max(limit, FEWEST_SCANNED), MOST_SCANNED)
    do {
      const [next, flat] = await main.call((client) =>
        client.zscanBuffer(key, cursor, 'MATCH', pattern, 'COUNT', count),
      )
      for (let i = 0; i < flat.length; i += 2) {
        items.push({ text: texts.read(flat[i] as Buffer), score: scoreOf(String(flat[i + 1])) })
      }
      cursor = String(next)
      scanned += count
      // While nothing is found, larger steps.
      if (items.length === 0) count = Math.min(count * 2, MOST_SCANNED)
    } while (cursor !== '0' && items.length < limit && scanned < MOST_TEXTS)
    return { items, next: cursor === '0' ? null : cursor, scanned }
  }
}

/** Jobs that were put back to the front since have moved it the other way: so some newer ones are looked at, too. */
function placeOf(at: string | undefined): string {
  return at === undefined ? '' : `${Number(at) + 1 + MOST_PUT_BACK}::`
}
