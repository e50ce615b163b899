/** Ids of ordered queues as jobs that a search finds: those that wait, and those in the morgue. */

import type { AppPort } from '../app/port.ts'
import { KIND } from '../job/instance-of.ts'
import { parseJson, parseList, stringifyJson } from '../job/json.ts'
import { type MorgueEntry, ORDERED_PAGE, type OrderedPage, type OrderedWaiting, type Store } from '../store/contract.ts'
import { added, type BulkResult } from './bulk.ts'
import { JobRecord } from './record.ts'
import {
  isIn,
  type JobAction,
  type JobHit,
  type Matcher,
  type OrderedState,
  type Source,
  wrongCursor,
} from './source.ts'
import { pages } from './walk.ts'

/** The most payloads of a waiting id that are searched, those with the lowest scores. */
const PAYLOADS = 20

/** An id of an ordered queue as a job: its class is the queue, its arguments are the id and its payloads. It has no jid. */
export class OrderedRecord extends JobRecord {
  static override readonly [KIND] = 'ordered'
  readonly id: string

  constructor(queue: string, found: OrderedWaiting | MorgueEntry, now: () => number) {
    super(textOf(queue, found), { now })
    this.id = found.id
  }

  override toJSON(): Record<string, unknown> {
    return { id: this.id, ...super.toJSON() }
  }
}

/** Dead ids are read newest first, waiting ones in the order in which they are due. */
export function orderedSource(
  { store: { ordered }, now }: AppPort,
  { search, ...matcher }: Matcher,
  state: OrderedState,
  queue: string,
): Source {
  const page = async (
    after: OrderedPage['after'],
  ): Promise<{ found: OrderedWaiting | MorgueEntry; value: number }[]> => {
    const some = { limit: ORDERED_PAGE, ...(after ? { after } : {}) }
    if (state === 'morgue') {
      const dead = await ordered.morgue(queue, 'updatedAt', { ...some, desc: true })
      return dead.map((found) => ({ found, value: found.updatedAt }))
    }
    const waiting = await ordered.waiting(queue, 'performIn', { ...some, payloads: PAYLOADS })
    return waiting.map((found) => ({ found, value: found.performIn }))
  }
  const read: Source['read'] = async ({ after, limit, ms }) => {
    const end = performance.now() + ms
    const items: JobHit[] = []
    let scanned = 0
    for (let last = after === null ? undefined : positionOf(after); ; ) {
      const some = await page(last)
      for (const { found, value } of some) {
        const job = new OrderedRecord(queue, found, now)
        const hit: JobHit = { state, job, at: new Date(value * 1000) }
        if (search.matches(job.text) && isIn(hit, matcher)) items.push(hit)
        scanned++
        last = { value, id: found.id }
        if (items.length === limit || performance.now() >= end) {
          return { items, next: JSON.stringify([value, found.id]), scanned }
        }
      }
      if (some.length < ORDERED_PAGE) return { items, next: null, scanned }
    }
  }
  const actOn = (action: JobAction, ids: string[]) =>
    action === 'retry'
      ? ordered.resurrect(queue, ids, now())
      : state === 'morgue'
        ? ordered.deleteDead(queue, ids)
        : ordered.act(queue, 'delete', ids, { now: now() })
  return {
    state,
    name: queue,
    read,
    async act(action, { signal, onProgress }) {
      let sum: BulkResult = { done: 0, refused: 0 }
      const limit = ORDERED_PAGE
      const found = pages((after) => read({ after: after ?? null, limit, ms: Number.POSITIVE_INFINITY }))
      for await (const { items } of found) {
        signal?.throwIfAborted()
        if (items.length === 0) continue
        const ids = items.map(({ job }) => (job as OrderedRecord).id)
        const done = await actOn(action, ids)
        sum = added(sum, { done, refused: ids.length - done })
        onProgress?.(sum)
      }
      return sum
    },
  }
}

/** Returns how many ids of all ordered queues wait, and how many are in the morgue. */
export async function orderedSizes(store: Store, now: number): Promise<Record<OrderedState, number>> {
  const names = await store.ordered.queues()
  const counts = await Promise.all(names.map((name) => store.ordered.counts(name, now)))
  const sizes = { ordered: 0, morgue: 0 }
  for (const one of counts) {
    sizes.morgue += one?.morgueLength ?? 0
    sizes.ordered += (one?.shards ?? []).reduce((sum, { length }) => sum + length, 0)
  }
  return sizes
}

/** @throws INVALID_OPTION */
function positionOf(after: string): NonNullable<OrderedPage['after']> {
  const [value, id] = parseList(after)
  if (typeof value === 'number' && typeof id === 'string') return { value, id }
  throw wrongCursor()
}

function textOf(queue: string, found: OrderedWaiting | MorgueEntry): string {
  const { id, payloads, error } = found
  const failures = 'deaths' in found ? found.deaths : found.retryCount + 1
  const failure = error === null ? {} : { error_message: error, retry_count: Math.max(failures - 1, 0) }
  return stringifyJson({ class: queue, queue, args: [id, ...payloads.map(([text]) => payloadOf(text))], ...failure })
}

/** A payload that is not JSON is a text. */
function payloadOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
