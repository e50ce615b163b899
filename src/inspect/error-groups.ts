/** Groups the jobs of a set by the cause of their errors. */

import type { Entry } from '../store/contract.ts'
import { type Cause, causeOf } from './cause.ts'
import { ScanBudget } from './chunks.ts'
import type { Search } from './pattern.ts'
import { JobRecord } from './record.ts'

export interface ErrorGroup {
  class: string | null
  /** The message without the parts that differ from job to job: `no user 1000017` becomes `no user …`. */
  message: string
  count: number
  /** The number of different messages, by their first 300 characters; counting stops at 1,000. */
  messages: number
  /** The first ten classes found among the jobs that failed with this error. */
  jobs: string[]
  /** When the first of these jobs failed. */
  since: Date | null
  /** The `cause` of a filter that finds exactly these jobs. */
  filter: string
}

export interface ErrorGroups {
  /** The groups, most frequent first; at most 100. */
  items: ErrorGroup[]
  /** The number of scanned entries that match the search, with an error or without. */
  matching: number
  scanned: number
  /** Whether all entries were scanned. */
  complete: boolean
}

export interface GroupingLimits {
  /** The number of entries to scan. */
  most: number
  ms: number
}

export interface GroupingOptions {
  /** Returns the part of a text that the viewer may see. */
  shown?: (text: string) => string
  /** Counts only the entries that match; default all. */
  search?: Search | undefined
}

const MOST_SHOWN = 100
/** At most this many causes are counted; further ones are ignored. */
const MOST_KEPT = 2000
const MOST_JOBS = 10
const MOST_MESSAGES = 1000
const LONGEST = 300

export async function errorGroups(
  chunks: AsyncIterable<Entry[]>,
  limits: GroupingLimits,
  { shown = (text) => text, search }: GroupingOptions = {},
): Promise<ErrorGroups> {
  const groups = new Map<string, Group>()
  const looked = new ScanBudget(limits)
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
  const items = [...groups.values()]
    .sort((a, b) => b.group.count - a.group.count)
    .slice(0, MOST_SHOWN)
    .map(({ group, messages }) => ({ ...group, messages: messages.size }))
  return { items, matching, scanned: looked.entries, complete }
}

interface Group {
  group: Omit<ErrorGroup, 'messages'>
  messages: Set<string>
}

function add(groups: Map<string, Group>, job: JobRecord): void {
  const { errorMessage, failedAt, displayClass } = job
  const cause = causeOf(job)
  if (cause === null) return
  const known = groups.get(cause.text)
  if (!known && groups.size >= MOST_KEPT) return
  const { group, messages } = known ?? newGroup(cause)
  if (!known) groups.set(cause.text, { group, messages })
  group.count++
  if (messages.size < MOST_MESSAGES) messages.add((errorMessage ?? '').slice(0, LONGEST))
  if (group.jobs.length < MOST_JOBS && !group.jobs.includes(displayClass)) group.jobs.push(displayClass)
  if (failedAt && (group.since === null || failedAt < group.since)) group.since = failedAt
}

function newGroup({ class: name, message, text }: Cause): Group {
  return { group: { class: name, message, count: 0, jobs: [], since: null, filter: text }, messages: new Set() }
}
