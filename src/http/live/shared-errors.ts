/** What many retries have in common: judged by a sample, where there are very many. */

import type { Highkiq } from '../../app.ts'
import { chunksOf } from '../../inspect/chunks.ts'
import { errorGroups } from '../../inspect/error-groups.ts'
import type { Redaction } from '../access/redact.ts'

/** Up to so many are all looked at; of more so many from both ends. */
const SAMPLE = 2000
/** Characters: of large ones fewer are. */
const SAMPLE_SIZE = 8_000_000
/** Until the store has answered. */
const SAMPLE_MS = 5000
/** Fewer ask for no look, and neither does a smaller share. */
const FEW = 20
const SHARE = 0.2
const MOST = 3

export interface SharedError {
  kind: 'retries-share-error'
  level: 'error'
  /** As people read it. */
  error: string
  /** The value of the parameter `cause` that finds these jobs among the retries. */
  filter: string
  class: string
  count: number
  since: Date
}

export async function sharedErrors(hq: Highkiq, redaction: Redaction): Promise<SharedError[]> {
  const size = await hq.retries.size()
  if (size < FEW) return []
  const sampled = size <= SAMPLE ? chunksOf(hq.store, 'retry') : bothEnds(hq)
  const { items, scanned } = await errorGroups(shown(sampled, redaction), { most: SAMPLE, ms: SAMPLE_MS })
  return items
    .filter(({ count }) => count >= FEW && count >= scanned * SHARE)
    .slice(0, MOST)
    .map(({ class: name, message, count, jobs, since, filter }) => ({
      kind: 'retries-share-error',
      level: 'error',
      error: [name, message].filter(Boolean).join(': '),
      filter,
      class: jobs[0] ?? '',
      count: scanned >= size ? count : about((count / scanned) * size),
      since: since ?? new Date(hq.now()),
    }))
}

type Chunks = ReturnType<typeof chunksOf>

/** Those that run again soonest, and those that run again last. */
async function* bothEnds({ store }: Highkiq): Chunks {
  const ends = [chunksOf(store, 'retry', { desc: false }), chunksOf(store, 'retry')]
  for (;;) {
    for (const end of ends) {
      const { value } = await end.next()
      if (!value) return
      yield value
    }
  }
}

/** What of them may be known. */
async function* shown(chunks: Chunks, redaction: Redaction): Chunks {
  let size = 0
  for await (const chunk of chunks) {
    yield chunk.map(({ text, score }) => ({ text: redaction.text(text), score }))
    size += chunk.reduce((sum, { text }) => sum + text.length, 0)
    if (size > SAMPLE_SIZE) return
  }
}

/** Three digits: it is no count. */
function about(n: number): number {
  return Number(n.toPrecision(3))
}
