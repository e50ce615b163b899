/** Reads the filter of all jobs from the address, for requests and for people. */

import type { SearchedState } from '../../api/types.ts'
import { dateOf, exact, serverNow } from '../../format/time.ts'
import { t, type Word } from '../../i18n/index.ts'

/** The states, in the order of the chips: those of failures first. */
export const STATES: Record<SearchedState, Word> = {
  retry: 'nav.retries',
  dead: 'nav.dead',
  rejected: 'jobs.rejected',
  morgue: 'jobs.morgue',
  running: 'jobs.state.running',
  queued: 'jobs.state.queued',
  ordered: 'jobs.ordered',
  limited: 'jobs.state.limited',
  backlog: 'jobs.backlog',
  scheduled: 'nav.scheduled',
  succeeded: 'nav.finished',
  finished: 'jobs.finished',
}

/** The filters with one value, and their labels. */
export const LABELS = {
  search: 'sets.filter.search',
  class: 'sets.filter.class',
  queue: 'sets.filter.queue',
  tag: 'jobs.filter.tag',
  error: 'sets.filter.error',
  errorClass: 'jobs.filter.errorClass',
  cause: 'sets.filter.cause',
  jid: 'jobs.filter.jid',
  from: 'jobs.filter.from',
  until: 'jobs.filter.until',
} as const satisfies Record<string, Word>
type Name = keyof typeof LABELS

const ARGS = 'args.'
const META = 'meta.'
const isMember = (name: string) => name.startsWith(ARGS) || name.startsWith(META)

/** Returns the filter as the API takes it, without the states and without empty values. */
export function filterIn(query: Record<string, string>): Record<string, string> {
  const entries = Object.entries(query).filter(
    ([name, value]) => value !== '' && (Object.hasOwn(LABELS, name) || isMember(name)),
  )
  return Object.fromEntries(entries)
}

/** Returns the chosen states; none means all. */
export function statesIn({ state = '' }: Record<string, string>): SearchedState[] {
  const named = state.split(',')
  return (Object.keys(STATES) as SearchedState[]).filter((one) => named.includes(one))
}

/** Returns the filter as the body of an action. */
export function bodyOf(filter: Record<string, string>): object {
  const members = (prefix: string) =>
    Object.fromEntries(
      Object.entries(filter).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      ),
    )
  const plain = Object.entries(filter).filter(([name]) => !isMember(name))
  const nested = Object.entries({ args: members(ARGS), meta: members(META) })
  return Object.fromEntries([...plain, ...nested.filter(([, values]) => Object.keys(values).length > 0)])
}

/** Returns the label and the value of a filter for people. */
export function labelOf(name: string, value: string): [label: string, value: string] {
  const label = Object.hasOwn(LABELS, name) ? t(LABELS[name as Name]) : name
  return [label, name === 'from' || name === 'until' ? exact(value) : value]
}

/** Describes the filter for people: `class Mail, args.0.customer 4711`. */
export function filterText(filter: Record<string, string>): string {
  return Object.entries(filter)
    .map(([name, value]) => labelOf(name, value).join(' '))
    .join(', ')
}

/** Reads `0.customer = 4711`; `customer = 4711` means any argument. Returns undefined for another text. */
export function argumentOf(text: string): Record<string, string> | undefined {
  const [, path, value] = /^(?:args\.)?([^\s=]+)\s*=\s*(\S.*)$/.exec(text.trim()) ?? []
  if (path === undefined || value === undefined) return undefined
  return { [ARGS + (/^(\d+|\*)(\.|$)/.test(path) ? path : `*.${path}`)]: value }
}

/** Reads `user = 7`. Returns undefined for another text. */
export function metaOf(text: string): Record<string, string> | undefined {
  const [, name, value] = /^(?:meta\.)?([\w-]+)\s*=\s*(\S.*)$/.exec(text.trim()) ?? []
  return name === undefined || value === undefined ? undefined : { [META + name]: value }
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * Reads how long ago (`2h`), or a date with or without a time, in the time zone of the page if it names none. Returns
 * undefined for another text.
 */
export function timeOf(text: string): string | undefined {
  const [, n, unit = ''] = /^(\d+)\s*([smhd])$/.exec(text.trim()) ?? []
  if (n !== undefined) return new Date(serverNow() - Number(n) * (UNITS[unit] as number) * 1000).toISOString()
  const [, date, time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?$/.exec(text.trim()) ?? []
  const at = date === undefined ? new Date(text) : dateOf(`${date}T${time}`)
  return at === null || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
