/** Searches queues and sets page by page. The server compares the texts and sends only the hits. */

import type { Entry, Scan, ScanPage, SearchStore, SetName, WaitingJob } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { escapePattern } from '../server/keys.ts'
import { StorePart } from '../server/server.ts'
import { scoreOf } from './job-sets.ts'

/** The most texts, and about the most bytes, that one call compares. */
const MAX_TEXTS = 2000
const MAX_BYTES = 1_000_000
/** About how many entries one ZSCAN compares; the first one compares as many as there are hits wanted. */
const MIN_SCANNED = 10
const MAX_SCANNED = 500
const MAX_PUT_BACK = 500

export class Search extends StorePart implements Partial<SearchStore> {
  async scanQueue(
    name: string,
    needle: string,
    { at, after = startOf(at), limit }: ScanPage,
  ): Promise<Scan<WaitingJob>> {
    const { keys, texts } = this.server
    const [left = '', length = '', sha = ''] = after.split(':')
    const wanted = Math.min(Math.max(limit, 1), MAX_TEXTS)
    const args = [needle, wanted, MAX_TEXTS, MAX_BYTES, left, length, sha]
    const [nowLeft, nextLength, nextSha, scanned, ...hits] = await this.server.runForBytes(
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

  /** The cursor is that of ZSCAN, which may be used again with another count. */
  async scanSet(set: SetName, needle: string, { after = '0', limit }: ScanPage): Promise<Scan<Entry>> {
    const { keys, texts } = this.server
    const key = keys.set(set)
    const pattern = `*${escapePattern(needle)}*`
    const items: Entry[] = []
    let cursor = after
    let scanned = 0
    let count = Math.min(Math.max(limit, MIN_SCANNED), MAX_SCANNED)
    do {
      const [next, flat] = await this.server.call((client) =>
        client.zscanBuffer(key, cursor, 'MATCH', pattern, 'COUNT', count),
      )
      for (let i = 0; i < flat.length; i += 2) {
        items.push({ text: texts.read(flat[i] as Buffer), score: scoreOf(String(flat[i + 1])) })
      }
      cursor = String(next)
      scanned += count
      // Without a hit so far the next step is larger.
      if (items.length === 0) count = Math.min(count * 2, MAX_SCANNED)
    } while (cursor !== '0' && items.length < limit && scanned < MAX_TEXTS)
    return { items, next: cursor === '0' ? null : cursor, scanned }
  }
}

/**
 * Returns where a search for a job begins. Jobs that were put back to the front since have moved the job away from
 * the tail, so the search begins at some newer jobs.
 */
function startOf(at: string | undefined): string {
  return at === undefined ? '' : `${Number(at) + 1 + MAX_PUT_BACK}::`
}
