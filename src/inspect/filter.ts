/** Selects the jobs of a list, to show them or to act on all of them. */

import { invalidOption } from '../job/errors.ts'
import { isObject, stringifyJson } from '../job/json.ts'
import { shown as quoted } from '../job/options.ts'
import { causeOf } from './cause.ts'
import { type Search, searchOf } from './pattern.ts'
import { JobRecord } from './record.ts'

/** The viewer of a search. */
export interface SearchView {
  /** Returns the part of a text that the viewer may see; the filter matches nothing else. Default: the viewer may see all. */
  shown?: (text: string) => string
}

/** The members of a filter that are texts. */
export const FILTER_TEXTS = ['search', 'jid', 'class', 'queue', 'tag', 'error', 'errorClass', 'cause'] as const

export interface JobFilter {
  /** Matches a substring of its text; a pattern with `*` matches the whole text, as in `JobSet.scan`. */
  search?: string | undefined
  jid?: string | undefined
  /** Matches its class. For an Active Job, its own class counts, too. */
  class?: string | undefined
  queue?: string | undefined
  /** Matches one of its tags. */
  tag?: string | undefined
  /** Matches a substring of `Class: message` of its error; a pattern with `*` matches all of it. */
  error?: string | undefined
  /** Matches the class of its error. */
  errorClass?: string | undefined
  /** Finds the jobs of one error group; give its `filter` unchanged. */
  cause?: string | undefined
  /**
   * Matches values in its arguments, by their paths: `{ '0.customer': '4711' }`. A path begins with the position of the
   * argument, and `*` stands for any position or name. A text matches a string, and also other values by their JSON.
   */
  args?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Returns the search for a filter; undefined when the filter is empty and so means all jobs.
 * @throws INVALID_OPTION for a wrong path of `args`
 */
export function filterOf(filter: JobFilter, { shown }: SearchView = {}): Search | undefined {
  // An empty text counts as absent: it comes from an empty field of a form.
  const {
    search,
    jid,
    class: name,
    queue,
    tag,
    error,
    errorClass,
    cause,
  }: JobFilter = Object.fromEntries(
    FILTER_TEXTS.flatMap((member) => (filter[member] ? [[member, filter[member]]] : [])),
  )
  const values = argumentsOf(filter.args)
  const plain = [jid, name, queue, tag, errorClass, cause]
  if (values.length === 0 && [search, error, ...plain].every((one) => one === undefined)) return undefined
  const searches = search === undefined ? [] : textsOf(search).map(searchOf)
  const failure = error === undefined ? undefined : searchOf(error)
  const needles = [
    ...[searches[0]?.needle, failure?.needle, ...plain],
    ...values.flatMap(({ path, value }) => [value, ...path.filter((part) => !/^\d+$/.test(part))]),
  ].map(longestWord)
  const matches = (text: string) => {
    // Most texts do not match, and this check shows it without parsing them.
    if (!needles.every((needle) => text.includes(needle))) return false
    const seen = shown ? shown(text) : text
    if (searches.length > 0 && !searches.some(({ matches }) => matches(seen))) return false
    const job = new JobRecord(seen, { now: () => 0 })
    if (jid !== undefined && job.jid !== jid) return false
    if (name !== undefined && !job.isOf(name)) return false
    if (queue !== undefined && job.queue !== queue) return false
    if (tag !== undefined && !job.tags.includes(tag)) return false
    if (errorClass !== undefined && job.errorClass !== errorClass) return false
    if (cause !== undefined && causeOf(job)?.text !== cause) return false
    if (failure && !failure.matches(errorOf(job))) return false
    return values.every(({ path, value }) => valuesAt(job.displayArgs, path).some((one) => isWritten(one, value)))
  }
  return { needle: longestWord(needles.join(' ')), hides: shown !== undefined, matches }
}

/** Returns the text that the `error` of a filter must match. */
export function errorOf({ errorClass, errorMessage }: JobRecord): string {
  return [errorClass, errorMessage].filter((part) => part !== null).join(': ')
}

/** Returns the paths and values of `args`. @throws INVALID_OPTION */
function argumentsOf(args: JobFilter['args'] = {}): { path: string[]; value: string }[] {
  return Object.entries(args).map(([name, value]) => {
    const path = name.split('.')
    if (!/^(\d+|\*)$/.test(path[0] as string) || path.includes('')) {
      const example = '0.customer, or *.customer for any argument'
      const is = 'the position of an argument and names in it, separated by dots'
      throw invalidOption(`args: a path must be ${is}: ${example} (got ${quoted(name)})`, {
        problem: 'no-path',
        path: name,
        option: 'args',
        value: name,
      })
    }
    return { path, value: typeof value === 'string' ? value : stringifyJson(value ?? null) }
  })
}

/** Returns the values that a path leads to. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [value]
  if (!isObject(value) && !Array.isArray(value)) return []
  if (name === '*') return Object.values(value).flatMap((one) => valuesAt(one, rest))
  return Object.hasOwn(value, name) ? valuesAt((value as Record<string, unknown>)[name], rest) : []
}

function isWritten(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text
  try {
    return stringifyJson(value) === text
  } catch {
    // The value has too many levels for JSON.
    return false
  }
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
