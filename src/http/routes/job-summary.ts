/** Jobs as lists and details show them: redacted, cut, and safe for any content. */

import type { JobHit, SetEntry } from '../../index.ts'
import { awaitedLimit, locksOf } from '../../inspect/job-facts.ts'
import { OrderedRecord } from '../../inspect/ordered-source.ts'
import type { JobRecord } from '../../inspect/record.ts'
import { Running } from '../../inspect/running.ts'
import type { Progress } from '../../job/context.ts'
import { stringifyJson } from '../../job/json.ts'
import { MOST_MESSAGES } from '../../job/messages.ts'
import { splitTaskJid } from '../../job/payload.ts'
import type { Redaction } from '../access/redact.ts'
import { dateOf, timeOf } from '../schemas/times.ts'
import type { Call } from '../server/route.ts'
import { shownKeys } from './lock-key.ts'

/** The most characters of a text in a list. */
const LONGEST = 300
const MOST_TAGS = 20
/** The most characters of the arguments, and of all other members, in a detail. */
const LONGEST_WHOLE = 65_536
/** The most characters of one member when the whole is longer than that. */
const LONGEST_MEMBER = 2000
const STANDARD_RETRIES = 25

export function cut(value: string, longest = LONGEST): string {
  return value.length <= longest ? value : `${value.slice(0, longest - 1).toWellFormed()}…`
}

export function summaryOf(redaction: Redaction, job: JobRecord, key: string) {
  const seen = redaction.record(job)
  return {
    jid: cut(job.jid),
    class: cut(seen.displayClass),
    queue: cut(job.queue),
    priority: job.priority,
    preview: previewOf(seen.displayArgs),
    bytes: Buffer.byteLength(job.text),
    tags: seen.tags.slice(0, MOST_TAGS).map((tag) => cut(tag)),
    createdAt: timeOf(seen.createdAt),
    enqueuedAt: timeOf(seen.enqueuedAt),
    key,
  }
}

export function entrySummaryOf(redaction: Redaction, entry: SetEntry, key: string) {
  return { ...summaryOf(redaction, entry, key), at: dateOf(entry.score), ...failureOf(redaction.record(entry)) }
}

export function hitSummaryOf(redaction: Redaction, { state, job, at }: JobHit, key: string) {
  const process = job instanceof Running ? job.process : null
  const orderedId = job instanceof OrderedRecord ? job.id : null
  const failure = failureOf(redaction.record(job))
  return { state, ...summaryOf(redaction, job, key), ...failure, at: timeOf(at), process, orderedId }
}

/** Returns the progress of a job with a cut note; null for none. */
export function progressOf(redaction: Redaction, progress: Progress | undefined): Progress | null {
  if (!progress) return null
  const { note } = progress
  return redaction.value({ ...progress, ...(note === undefined ? {} : { note: cut(note) }) })
}

function failureOf(seen: JobRecord, longest = LONGEST) {
  const { errorClass, errorMessage, failedAt, retriedAt, retryCount, payload } = seen
  const hasFailed = errorClass !== null || errorMessage !== null
  return {
    error: hasFailed
      ? { class: errorClass === null ? null : cut(errorClass), message: cut(errorMessage ?? '', longest) }
      : null,
    failures: Math.max(retryCount === null ? 0 : retryCount + 1, hasFailed ? 1 : 0),
    retries: retriesOf(payload.retry),
    failedAt: timeOf(failedAt),
    retriedAt: timeOf(retriedAt),
    task: taskOf(payload),
  }
}

function retriesOf(retry: unknown): number | null {
  if (retry === true) return STANDARD_RETRIES
  if (retry === false) return 0
  return typeof retry === 'number' && Number.isInteger(retry) && retry >= 0 ? retry : null
}

function taskOf({ hk_task, jid }: Record<string, unknown>): { id: string; index: number } | null {
  if (typeof hk_task !== 'string' || typeof jid !== 'string' || !/^[0-9a-f]{24}$/.test(jid)) return null
  return { id: hk_task, index: splitTaskJid(jid).index }
}

/** @param about `at` is null for a job in a queue; `whole` returns everything uncut */
export async function detailOf(
  { hq, server }: Pick<Call, 'hq' | 'server'>,
  job: JobRecord,
  { key, at, whole }: { key: string; at: Date | null; whole: boolean },
) {
  const { redaction } = server
  const lockKeyOf = await shownKeys(server)
  const limit = awaitedLimit(job)
  const seen = redaction.record(job)
  const args = redaction.value(seen.displayArgs)
  const argsText = stringifyJson(args)
  const longest = whole ? Number.POSITIVE_INFINITY : LONGEST_WHOLE
  return {
    ...summaryOf(redaction, job, key),
    at,
    ...failureOf(seen, longest),
    args: argsText.length > longest ? null : args,
    argsText: cut(argsText, longest),
    bid: job.bid,
    // A key comes from arguments.
    limit: limit && { ...limit, ...redaction.value({ key: limit.key }) },
    locks: (await locksOf(hq.store, hq.now(), job)).map((lock) => cut(lockKeyOf(lock))),
    hidden: redaction.hides('args', job.args),
    backtrace: seen.backtrace?.slice(0, whole ? undefined : MOST_FRAMES).map((frame) => cut(frame, 2000)) ?? null,
    messages: seen.messages
      .slice(0, whole ? undefined : MOST_MESSAGES)
      .map(({ at, text }) => ({ at, text: cut(text, whole ? longest : LONGEST_MEMBER) })),
    payload: restOf(redaction, seen, longest),
  }
}

const MOST_FRAMES = 200
const SHOWN_ELSEWHERE = ['args', 'error_backtrace']

function restOf(redaction: Redaction, { payload }: JobRecord, longest: number): Record<string, unknown> {
  const rest = Object.entries(redaction.value(payload)).filter(
    ([name, value]) => !SHOWN_ELSEWHERE.includes(name) && !(name === 'hk_messages' && Array.isArray(value)),
  )
  if (stringifyJson(Object.fromEntries(rest)).length <= longest) return Object.fromEntries(rest)
  return Object.fromEntries(
    rest.slice(0, 100).map(([name, value]) => {
      const written = typeof value === 'string' ? value : stringifyJson(value)
      return [cut(name), written.length > LONGEST_MEMBER ? cut(written, LONGEST_MEMBER) : value]
    }),
  )
}

/** Returns the beginning of a value as JSON, without writing all of a large value. */
function previewOf(value: unknown): string {
  let out = ''
  const isFull = () => out.length > LONGEST
  const write = (one: unknown): void => {
    if (typeof one === 'string') out += JSON.stringify(one.length > LONGEST ? one.slice(0, LONGEST) : one)
    else if (Array.isArray(one)) {
      out += '['
      for (const [i, item] of one.entries()) {
        if (isFull()) return
        if (i > 0) out += ','
        write(item)
      }
      out += ']'
    } else if (typeof one === 'object' && one !== null) {
      out += '{'
      let isFirst = true
      for (const key of Object.keys(one)) {
        if (isFull()) return
        out += `${isFirst ? '' : ','}${JSON.stringify(cut(key))}:`
        isFirst = false
        write((one as Record<string, unknown>)[key])
      }
      out += '}'
    } else out += stringifyJson(one)
  }
  write(value)
  return cut(out)
}
