import { hideSealed } from '../job/encryption.ts'
import { invalidOption } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { checkText, shown } from '../job/options.ts'
import type { Payload } from '../job/payload.ts'
import type { CodeFilter, EventQuery, EventRecord, EventStatus, ReasonCount, Store } from '../store/contract.ts'
import type { Language } from './languages/index.ts'
import { historyOf } from './messages.ts'
import { retryTransient } from './rows.ts'

export type { CodeFilter, ReasonCount } from '../store/contract.ts'

/** The event of one row of a task: its status, attempts and messages. */
export interface TaskEvent {
  index: number
  jid: string
  job: string
  /** Number of the row in the file that it came from. */
  number: number | null
  status: EventStatus
  /** The handler's arguments; null once dropped (see keepArgs). */
  args: unknown[] | null
  attempts: number
  code: string | null
  messages: { at: Date; text: string }[]
  startedAt: Date | null
  finishedAt: Date | null
  result?: unknown
  /** Until when the row waits for its end from outside, after its handler called `ctx.defer`. */
  deferredUntil?: Date
}

const PAGE = 500

/** Yields a task's events in the order of its rows, page by page. */
export async function* eventPages(
  store: Store,
  task: string,
  { after = -1, ...filter }: Omit<EventQuery, 'limit'>,
): AsyncGenerator<EventRecord[]> {
  for (let last = after; ; ) {
    const query = { ...filter, after: last, limit: PAGE }
    const page = await retryTransient(() => store.tasks.events(task, query))
    if (page.length > 0) yield page
    const end = page.at(-1)
    if (!end || page.length < PAGE) return
    last = end.index
  }
}

/** Groups items into lists of at most 500. */
export async function* inPages<T>(all: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const one of all) {
    if (page.push(one) < PAGE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

/** Converts a stored event to the public form. `language` applies to the messages that are not the app's. */
export function eventOf(job: string, event: EventRecord, language: Language = 'en'): TaskEvent {
  const { index, jid, number, status, attempts, code, startedAt, finishedAt } = event
  const date = (at: number | null) => (at === null ? null : new Date(at))
  const messages = historyOf(event, language).map(({ at, text }) => ({ at: new Date(at), text }))
  const row = { index, jid, job: event.job ?? job, number, status, args: argsOfEvent(event), attempts, code, messages }
  const result = event.result === null ? {} : { result: parseJson(event.result) }
  const deferred = event.deferredUntil === undefined ? {} : { deferredUntil: new Date(event.deferredUntil) }
  return { ...row, startedAt: date(startedAt), finishedAt: date(finishedAt), ...result, ...deferred }
}

/** @throws INVALID_OPTION */
export function checkStatuses(where: string, statuses: unknown, known: readonly EventStatus[]): void {
  if (Array.isArray(statuses) && statuses.every((status) => known.includes(status))) return
  const odd = Array.isArray(statuses) ? statuses.find((status) => !known.includes(status)) : statuses
  throw invalidOption(`${where}: status must be a list of ${known.join(', ')} (got ${shown(odd)})`)
}

/** The options that select rows by their code. */
export const CODE_OPTIONS = { code: null, otherCodes: 'flag' } as const

/** @throws INVALID_OPTION */
export function checkCode(where: string, { code, otherCodes }: CodeFilter): void {
  if (code !== undefined && code !== null) checkText(`${where}: code`, code)
  if (code === undefined || !otherCodes) return
  throw invalidOption(`${where}: give code or otherCodes, not both`)
}

/** Returns the part of these options that selects rows by their code. */
export function codeFilterOf({ code, otherCodes }: CodeFilter): CodeFilter {
  return { ...(code === undefined ? {} : { code }), ...(otherCodes ? { otherCodes } : {}) }
}

/** Returns the filter that finds the counted rows. */
export function reasonFilter({ code, otherCodes }: Pick<ReasonCount, 'code' | 'otherCodes'>): CodeFilter {
  return otherCodes ? { otherCodes } : { code }
}

/**
 * Returns the arguments of a row. A row is stored as its bare arguments, or as a whole payload if middleware changed
 * more than them. An encrypted argument is not shown.
 */
export function argsOfEvent({ args }: EventRecord): unknown[] | null {
  if (args === null) return null
  const value = parseJson(args)
  if (Array.isArray(value)) return hideSealed(value)
  const { args: all, hk_list } = value as Payload
  return hk_list ? (all[0] as unknown[]) : hideSealed(all)
}
