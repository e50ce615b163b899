/** Acts on all entries of a set, or on all that match: page by page, each entry by compare-and-swap. */

import type { AppPort } from '../app/port.ts'
import { invalidOption, storeRefused } from '../job/errors.ts'
import { checkOptions } from '../job/options.ts'
import type { Entry, SetName, Swap, SwapAnswer } from '../store/contract.ts'
import { nameOf } from './actions.ts'
import { chunksOf } from './chunks.ts'
import { searchOf } from './pattern.ts'
import { JobRecord } from './record.ts'
import { pages } from './walk.ts'

const PAGE = 100

export interface SweepOptions {
  /** Acts only on entries whose text matches; see `JobSet.scan`. */
  matching?: string
  /** Acts only on entries for which this returns true. */
  where?: (entry: { text: string; score: number }) => boolean
  /** Stops between two pages and throws its reason. */
  signal?: AbortSignal
  /** Called after each page. */
  onProgress?: (sofar: BulkResult) => void
}

export interface BulkResult {
  done: number
  /** The number of jobs that could not be moved and are still there, or that had ended before they were cancelled. */
  refused: number
  /** Why the first of them was refused. */
  error?: unknown
}

export function added(a: BulkResult, b: BulkResult): BulkResult {
  const error = a.error ?? b.error
  return { done: a.done + b.done, refused: a.refused + b.refused, ...(error === undefined ? {} : { error }) }
}

/** Refuses unknown options, and a filter that is undefined or empty: they would mean all entries. @throws INVALID_OPTION */
export function checkSweep(options: object): void {
  const known = { matching: null, where: null, signal: 'signal', onProgress: 'function' } as const
  checkOptions('acting on all', options, known)
  if ('where' in options && typeof options.where !== 'function') {
    throw invalidOption('where must be a function of an entry; leave it out to mean all')
  }
  if ('matching' in options && (typeof options.matching !== 'string' || options.matching === '')) {
    throw invalidOption('matching must be a string that is not empty; leave it out to mean all')
  }
}

/** Calls `done` with the entries of each page that were moved. */
export async function forAll(
  app: AppPort,
  set: SetName,
  options: SweepOptions,
  act: (entry: Entry) => Promise<Swap> | Swap,
  done: (entries: Entry[]) => Promise<void> = async () => {},
): Promise<BulkResult> {
  checkSweep(options)
  const { signal, onProgress } = options
  const result: BulkResult = { done: 0, refused: 0 }
  const refuse = (error: unknown) => {
    result.refused++
    result.error ??= error
  }
  const began = app.now()
  for await (const found of meant(app, set, options)) {
    signal?.throwIfAborted()
    const entries = found.filter((entry) => !hasFailedSince(app, began, entry))
    const acts = await Promise.allSettled(entries.map(async (entry) => act(entry)))
    const swaps = acts.flatMap((one) => {
      if (one.status === 'fulfilled') return one.value
      refuse(one.reason)
      return []
    })
    const answers = await app.store.jobSets.swap(set, swaps, app.now())
    const of = (wanted: SwapAnswer) => swaps.filter((_, i) => answers[i] === wanted)
    for (const { text } of of('error')) refuse(storeRefused(`move ${nameOf(text)}`))
    result.done += of('ok').length
    await done(of('ok'))
    onProgress?.({ ...result })
  }
  return result
}

/** Whether the job failed after the action began: a retried job may be back already, and must not be met again. */
function hasFailedSince(app: AppPort, began: number, { text }: Entry): boolean {
  const { failedAt, retriedAt } = new JobRecord(text, app)
  const failed = (retriedAt ?? failedAt)?.getTime() ?? 0
  // A time in the future is ignored.
  return failed > began && failed <= app.now()
}

/** Yields from the highest score down, so that entries added meanwhile with a higher score are not met. */
async function* meant(
  app: AppPort,
  set: SetName,
  { matching, where = () => true, signal }: SweepOptions,
): AsyncGenerator<Entry[]> {
  if (matching === undefined) {
    for await (const chunk of chunksOf(app.store, set, { first: PAGE, signal })) {
      const page = chunk.filter(where)
      for (let i = 0; i < page.length; i += PAGE) yield page.slice(i, i + PAGE)
    }
    return
  }
  const { needle, matches } = searchOf(matching)
  for await (const { items } of pages((after) => app.store.search.scanSet(set, needle, { after, limit: PAGE }))) {
    const page = items.filter((item) => matches(item.text) && where(item))
    if (page.length > 0) yield page
  }
}
