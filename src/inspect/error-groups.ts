/** What the jobs of a set failed of: the few causes of many entries. */

import type { Entry } from '../store/contract.ts'
import { Looked } from './chunks.ts'
import { errorOf } from './filter.ts'
import type { Search } from './pattern.ts'
import { JobRecord } from './record.ts'

export interface ErrorGroup {
  class: string | null
  /** What differs from job to job is left out: `no user 17` and `no user 18` are `no user …`. */
  message: string
  count: number
  /** Classes of jobs that failed of it, the first ten that were met. */
  jobs: string[]
  /** When the first of them failed. */
  since: Date | null
  /** What finds them: the `error` of a filter. */
  filter: string
}

export interface ErrorGroups {
  /** The most frequent first, at most a hundred. */
  items: ErrorGroup[]
  /** Of those that were looked at, how many are meant, with an error or without. */
  matching: number
  scanned: number
  /** All were looked at. */
  complete: boolean
}

export interface GroupingLimits {
  /** Entries that are looked at. */
  most: number
  ms: number
}

export interface GroupingOptions {
  /** What of a text may be known. */
  shown?: (text: string) => string
  /** Those that are meant; default all. */
  search?: Search | undefined
}

const MOST_SHOWN = 100
/** Causes that are told apart; of others nothing is kept. */
const MOST_KEPT = 2000
const MOST_JOBS = 10
const LONGEST = 300
/** Ids, addresses and numbers. */
const VARYING =
  /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|\d+(?:[.,:]\d+)*/gi

export async function errorGroups(
  chunks: AsyncIterable<Entry[]>,
  limits: GroupingLimits,
  { shown = (text) => text, search }: GroupingOptions = {},
): Promise<ErrorGroups> {
  const groups = new Map<string, ErrorGroup>()
  const looked = new Looked(limits)
  let matching = 0
  let complete = true
  for await (const chunk of chunks) {
    if (looked.isEnough) {
      complete = false
      break
    }
    for (const entry of chunk) {
      const { text } = entry
      looked.add(entry)
      if (search && !search.matches(text)) continue
      matching++
      add(groups, new JobRecord(shown(text), { now: () => 0 }))
    }
  }
  const items = [...groups.values()].sort((a, b) => b.count - a.count).slice(0, MOST_SHOWN)
  return { items, matching, scanned: looked.entries, complete }
}

function add(groups: Map<string, ErrorGroup>, job: JobRecord): void {
  const { errorClass, errorMessage, failedAt, displayClass } = job
  if (errorClass === null && errorMessage === null) return
  // A message may be a megabyte: what is behind its beginning tells no causes apart.
  const text = errorOf(job).slice(0, LONGEST)
  const filter = `${text.split(VARYING).map(literal).join('*')}*`
  const group = groups.get(filter) ?? {
    class: errorClass?.slice(0, LONGEST) ?? null,
    message: (errorMessage ?? '').slice(0, LONGEST).replace(VARYING, '…'),
    count: 0,
    jobs: [],
    since: null,
    filter,
  }
  if (group.count === 0 && groups.size >= MOST_KEPT) return
  groups.set(filter, group)
  group.count++
  if (group.jobs.length < MOST_JOBS && !group.jobs.includes(displayClass)) group.jobs.push(displayClass)
  if (failedAt && (group.since === null || failedAt < group.since)) group.since = failedAt
}

/** As a pattern that means nothing but itself. */
function literal(text: string): string {
  return text.replace(/[\\*?[]/g, '\\$&')
}
