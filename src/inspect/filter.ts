/** Selects the jobs of a list, to show them or to act on all of them. */

import { causeOf } from './cause.ts'
import { type Search, searchOf } from './pattern.ts'
import { JobRecord } from './record.ts'

export interface JobFilter {
  /** Matches a substring of its text; a pattern with `*` matches the whole text, as in `JobSet.scan`. */
  search?: string | undefined
  /** Matches its class. For an Active Job, its own class counts, too. */
  class?: string | undefined
  /** Matches a substring of `Class: message` of its error; a pattern with `*` matches all of it. */
  error?: string | undefined
  /** Finds the jobs of one error group; give its `filter` unchanged. */
  cause?: string | undefined
  queue?: string | undefined
}

/**
 * Returns the search for a filter; undefined when the filter is empty and so means all jobs.
 * @param shown returns the part of a text that the viewer may see; the filter matches nothing else
 */
export function filterOf(filter: JobFilter, shown: (text: string) => string = (text) => text): Search | undefined {
  // An empty text counts as absent: it comes from an empty field of a form.
  const filled: JobFilter = Object.fromEntries(Object.entries(filter).filter(([, text]) => text !== ''))
  const { search, class: name, error, cause, queue } = filled
  if ([search, name, error, cause, queue].every((one) => one === undefined)) return undefined
  const searches = search === undefined ? [] : textsOf(search).map(searchOf)
  const failure = error === undefined ? undefined : searchOf(error)
  const needles = [searches[0]?.needle, name, failure?.needle, cause, queue].map(longestWord)
  const matches = (text: string) => {
    // Most texts do not match, and this check shows it without parsing them.
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

/** Returns the text that the `error` of a filter must match. */
export function errorOf({ errorClass, errorMessage }: JobRecord): string {
  return [errorClass, errorMessage].filter((part) => part !== null).join(': ')
}

/** Returns a search as it is and as JSON writes it inside a string, because people copy from both. */
function textsOf(search: string): string[] {
  const written = JSON.stringify(search).slice(1, -1)
  return written === search || search.includes('*') ? [search] : [search, written]
}

/** Returns the longest word of a text. JSON never escapes ASCII letters and digits. */
function longestWord(text = ''): string {
  return (text.match(/\w+/g) ?? []).reduce((longest, one) => (one.length > longest.length ? one : longest), '')
}
