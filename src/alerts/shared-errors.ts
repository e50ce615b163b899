/** Finds errors that many retries share. Of very many retries it reads a sample. */

import type { AppPort } from '../app/port.ts'
import { chunksOf } from '../inspect/chunks.ts'
import { errorGroups } from '../inspect/error-groups.ts'
import type { Store } from '../store/contract.ts'
import type { Alert } from './alert.ts'

/** The most retries that are read. Of more, this many are read from both ends. */
const SAMPLE = 2000
/** The most characters that are read. */
const SAMPLE_SIZE = 8_000_000
/** The longest time for reading. */
const SAMPLE_MS = 5000
/** The fewest retries, and the smallest share of all, that raise an alert. */
const FEW = 20
const SHARE = 0.2

export type SharedError = Extract<Alert, { kind: 'retries-share-error' }>

/** Returns at most `most` errors. `redact` returns what may be shown of a payload. */
export async function sharedErrors(
  app: Pick<AppPort, 'store' | 'now'>,
  most: number,
  redact = (text: string) => text,
): Promise<SharedError[]> {
  const { store } = app
  const size = await store.jobSets.size('retry')
  if (size < FEW) return []
  const sampled = size <= SAMPLE ? chunksOf(store, 'retry') : bothEnds(store)
  const { items, scanned } = await errorGroups(redacted(sampled, redact), { most: SAMPLE, ms: SAMPLE_MS })
  return items
    .filter(({ count }) => count >= FEW && count >= scanned * SHARE)
    .slice(0, most)
    .map(({ class: name, message, count, jobs, since, filter }) => ({
      kind: 'retries-share-error',
      level: 'error',
      error: [name, message].filter(Boolean).join(': '),
      filter,
      class: jobs[0] ?? '',
      count: scanned >= size ? count : about((count / scanned) * size),
      since: since ?? new Date(app.now()),
    }))
}

type Chunks = ReturnType<typeof chunksOf>

/** Reads from both ends: the retries that are due first, and those that are due last. */
async function* bothEnds(store: Store): Chunks {
  const ends = [chunksOf(store, 'retry', { desc: false }), chunksOf(store, 'retry')]
  for (;;) {
    for (const end of ends) {
      const { value } = await end.next()
      if (!value) return
      yield value
    }
  }
}

/** Redacts the chunks, and stops at the most characters. */
async function* redacted(chunks: Chunks, redact: (text: string) => string): Chunks {
  let size = 0
  for await (const chunk of chunks) {
    yield chunk.map(({ text, score }) => ({ text: redact(text), score }))
    size += chunk.reduce((sum, { text }) => sum + text.length, 0)
    if (size > SAMPLE_SIZE) return
  }
}

/** Rounds to three digits, since the number is an estimate. */
function about(n: number): number {
  return Number(n.toPrecision(3))
}
