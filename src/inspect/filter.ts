/** Which jobs are meant: what people narrow a list by, and act on all of. */

import { causeOf } from './cause.ts'
import { type Search, searchOf } from './pattern.ts'
import { JobRecord } from './record.ts'

export interface JobFilter {
  /** Somewhere in its text; with `*` the whole text, as in `JobSet.scan`. */
  search?: string | undefined
  /** Its class; of an Active Job its own counts, too. */
  class?: string | undefined
  /** Somewhere in `Class: message` of its error; with `*` all of that. */
  error?: string | undefined
  /** Finds the jobs of one error group; give its `filter` unchanged. */
  cause?: string | undefined
  queue?: string | undefined
}

/**
 * @param shown what of a text may be known: nothing is found by anything else
 * @returns undefined: all are meant
 */
export function filterOf(filter: JobFilter, shown: (text: string) => string = (text) => text): Search | undefined {
  // An empty text is none: of a form that was left empty.
  const {
    search,
    class: name,
    error,
    cause,
    queue,
  } = Object.fromEntries(Object.entries(filter).filter(([, text]) => text !== '')) as JobFilter
  if ([search, name, error, cause, queue].every((one) => one === undefined)) return undefined
  const searches = search === undefined ? [] : textsOf(search).map(searchOf)
  const failure = error === undefined ? undefined : searchOf(error)
  const needles = [searches[0]?.needle, name, failure?.needle, cause, queue].map(longestWord)
  const matches = (text: string) => {
    // Most are none of them, and that is seen without reading them.
    if (!needles.every((needle) => text.includes(needle))) return false
    const seen = shown(text)
    if (searches.length > 0 && !searches.some(({ matches }) => matches(seen))) return false
    const job = new JobRecord(seen, { now: () => 0 })
    if (name !== undefined && !job.isOf(name)) return false
    if (queue !== undefined && job.queue !== queue) return false
    if (cause !== undefined && causeOf(job)?.text !== cause) return false
    return !failure || failure.matches(errorOf(job))
  }
  return { needle: longestWord(needles.join(' ')), matches }
}

/** What the error of a filter is held against. */
export function errorOf({ errorClass, errorMessage }: JobRecord): string {
  return [errorClass, errorMessage].filter((part) => part !== null).join(': ')
}

/** As it is, and as JSON writes it inside of a string: people copy from both. */
function textsOf(search: string): string[] {
  const written = JSON.stringify(search).slice(1, -1)
  return written === search || search.includes('*') ? [search] : [search, written]
}

/** JSON writes letters and digits of ASCII as they are. */
function longestWord(text = ''): string {
  return (text.match(/\w+/g) ?? []).reduce((longest, one) => (one.length > longest.length ? one : longest), '')
}
