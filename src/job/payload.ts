/** The wire format: a job as JSON text. Sidekiq's members have Sidekiq's names; those of Highkiq begin with `hk_`. */

import { randomBytes, randomFillSync } from 'node:crypto'
import { editMembers, type Floats, memberText, parseJson, stringifyJson } from './json.ts'

/**
 * The version of Sidekiq in whose dialect jobs are written; all dialects are read. 8: times are integer milliseconds. 7 and
 * 6: times are seconds, always with a fraction, because Ruby distinguishes them by the type of the number.
 */
export type Sidekiq = 8 | 7 | 6

/** The version of Sidekiq beside this app, and the version of its json gem where that is not the usual one. */
export type Wire = Sidekiq | { sidekiq: Sidekiq; json?: string }

export function sidekiqOf(wire: Wire): Sidekiq {
  return typeof wire === 'object' ? wire.sidekiq : wire
}

/**
 * Returns how the Ruby beside this app writes floats. Sidekiq 8.1 asks for json 2.16; the Rubies of 7 and 6 usually
 * have an older one.
 */
export function floatsOf(wire: Wire): Floats {
  if (typeof wire !== 'object' || wire.json === undefined) return sidekiqOf(wire) === 8 ? 'new' : 'old'
  const [major = 0, minor = 0] = wire.json.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 12) ? 'new' : 'old'
}

const TIMES = ['created_at', 'enqueued_at', 'failed_at', 'retried_at', 'discarded_at'] as const
export type Time = (typeof TIMES)[number]
const isTime = new Set<string>(TIMES)

/** A job. Members that Highkiq does not know are kept. */
export interface Payload {
  class: string
  args: unknown[]
  queue: string
  jid: string
  retry?: boolean | number | null
  created_at?: number
  enqueued_at?: number
  retry_count?: number
  failed_at?: number
  retried_at?: number
  discarded_at?: number
  error_message?: string
  error_class?: string
  backtrace?: boolean | number
  error_backtrace?: string
  dead?: boolean
  tags?: string[]
  retry_for?: number
  retry_queue?: string
  /** Seconds within which the job must start. */
  expires_in?: number
  wrapped?: string
  /** Whether its last argument is encrypted. */
  encrypt?: boolean
  /** The level of this job's log lines. */
  log_level?: string
  /** The id of its task. */
  hk_task?: string
  /** The run of the task. */
  hk_run?: number
  /** Its only argument is a list of rows of its task: one row, unless there is hk_rows. */
  hk_list?: true
  /** The indexes of its rows, if it has several; the jid is that of the first. */
  hk_rows?: number[]
  /** Whether the job is a page of an export. The store keeps the rows that its handler returns. */
  hk_part?: true
  /** The number of attempts that have ended. */
  hk_attempt?: number
  /** The number of attempts in a row whose process died. */
  hk_crashes?: number
  /** When a scheduled job expires (ms). */
  hk_expires?: number
  /** When a postponed job with a deadline was due first, and when the job is due now, in seconds. */
  hk_postponed?: [number, number]
  /** The batch of which it is a member: of Highkiq 16 hex digits, of Sidekiq Pro 14 characters. */
  bid?: string
  /** The batch of its children, for a parent in a flow. */
  hk_children?: string
  /** Its place among the children of its parent in a flow. */
  hk_child?: number
  /** Its cron entry, and the tick in milliseconds. */
  hk_cron?: string
  hk_tick?: number
  /** The lock that it holds until it has ended. */
  hk_lock?: string
  /** The lock of a unique job: when it is released, a colon, and its key. */
  hk_unique?: string
  /** When that lock is free at the latest (ms). */
  hk_unique_ends?: number
  /** The messages that its handler added in ended attempts, with their times (ms). */
  hk_messages?: unknown
  /** The start of the last attempt (ms), the result and the last progress; only in a finished job. */
  hk_started?: number
  hk_result?: unknown
  hk_progress?: unknown
  /** The values of the app's contexts at the push, by name. */
  hk_context?: Record<string, unknown>
  [field: string]: unknown
}

/** The only argument of the job that wraps a job of Rails' Active Job. */
export interface ActiveJobEnvelope {
  job_class: string
  job_id: string
  provider_job_id: string | null
  queue_name: string
  priority: number | null
  /** In Active Job's format; the handler gets them deserialised. */
  arguments: unknown[]
  /** How often Rails ran it before, and how often after which errors. */
  executions: number
  exception_executions: Record<string, number>
  locale: string | null
  timezone: string | null
  enqueued_at: string
  scheduled_at: string | null
  [field: string]: unknown
}

const JID_BYTES = 12
/** Random bytes for many jids: one request to the system costs more than writing a whole job. */
const pool = Buffer.alloc(JID_BYTES * 512)
let digits = ''
let used = 0

/** The limit for a jid that a push brings. */
export const MOST_JID_CHARACTERS = 200

/** Returns 24 hex digits, like Sidekiq. */
export function newJid(): string {
  if (used === digits.length) {
    digits = randomFillSync(pool).toString('hex')
    used = 0
  }
  used += 2 * JID_BYTES
  return digits.slice(used - 2 * JID_BYTES, used)
}

/**
 * Returns a new id of 16 hex digits for a task or a batch. The jids of the task's rows begin with it. With the id of
 * the batch `around`, the new id has the same first three digits, so that a sharded store keeps both on one shard.
 */
export function newTaskId(around?: string): string {
  const id = randomBytes(8).toString('hex')
  return around === undefined ? id : around.slice(0, 3) + id.slice(3)
}

/** Returns whether a member `bid` names a batch of Highkiq, and not one of Sidekiq Pro. */
export function isBid(bid: unknown): bid is string {
  return typeof bid === 'string' && /^[0-9a-f]{16}$/.test(bid)
}

/** Returns the jid of a row: the 16 hex digits of its task, and 8 of its index. */
export function taskJid(task: string, index: number): string {
  return task + hexIndex(index)
}

/** Whether a job has a task of its own, because its definition says `track`. Rows of other tasks name their run. */
export function isSingleTracked({ jid, hk_task, hk_run }: Pick<Payload, 'jid' | 'hk_task' | 'hk_run'>): boolean {
  return hk_task !== undefined && hk_run === undefined && jid === taskJid(hk_task, 0)
}

function hexIndex(index: number): string {
  return index.toString(16).padStart(8, '0')
}

export function splitTaskJid(jid: string): { id: string; index: number } {
  return { id: jid.slice(0, 16), index: Number.parseInt(jid.slice(16), 16) }
}

/** A template with this end has times in seconds. */
const IN_SECONDS = ',"enqueued_at":0.0}'

/** Returns a template without the end that says how its times are written. */
export function bareTemplate(template: string): string {
  return template.endsWith(IN_SECONDS) ? `${template.slice(0, -IN_SECONDS.length)}}` : template
}

/** Returns the members that all rows of a task have, for `completeRow`. There is at least one. */
export function rowTemplate(payload: Payload, wire: Wire): string {
  const text = writePayload(payload, wire)
  return sidekiqOf(wire) === 8 ? text : text.slice(0, -1) + IN_SECONDS
}

/**
 * Returns the text of a row, joined from the template of its task and its own text: bare arguments (`[…]`), or a whole
 * payload (`{…}`) if the row differs from the template.
 */
export function completeRow(row: {
  template: string
  args: string
  task: string
  index: number
  run: number
  now: number
}): string {
  const { beforeArgs, beforeIndex, beforeRun, end } = rowMembers(row)
  const rest = hexIndex(row.index) + beforeRun + row.run + end
  // An opened text ends with a comma.
  if (row.args.startsWith('{')) return opened(row.args) + beforeIndex.slice(1) + rest
  return beforeArgs + row.args + beforeIndex + rest
}

/** Returns the texts around a row's arguments, its index (8 hex digits) and its run, in this order. Stores join many rows. */
export function rowMembers({ template, task, now }: { template: string; task: string; now: number }) {
  const wire = template.endsWith(IN_SECONDS) ? 7 : 8
  const bare = bareTemplate(template)
  return {
    beforeArgs: `${opened(bare)}"args":`,
    beforeIndex: `,"jid":"${task}`,
    beforeRun: '","hk_run":',
    end: `,"enqueued_at":${jsonOf('enqueued_at', timeOf(now, wire), wire)}}`,
  }
}

/** Returns the callback of a task. Its arguments are the task and the run, which also make its jid. */
export function completeCallback(callback: {
  template: string
  kind: 'done' | 'failure'
  task: string
  run: number
  now: number
}): string {
  const { template, kind, task, run, now } = callback
  const jid = task + (kind === 'done' ? 'ff' : 'fe') + run.toString(16).padStart(6, '0')
  return completed(template, `"args":["${task}",${run}],"jid":"${jid}"`, now)
}

const CALLBACK = /^[0-9a-f]{16}f[ef][0-9a-f]{6}$/

/** Returns the task whose callback a job is; undefined: it is none. */
export function taskOfCallback({ jid, args }: Payload): string | undefined {
  const task = typeof jid === 'string' && CALLBACK.test(jid) ? jid.slice(0, 16) : undefined
  return task !== undefined && args?.[0] === task ? task : undefined
}

/** Returns the text of a job for `completeBatchJob`, which adds the time of its push. */
export function batchJobText(text: string, wire: Wire): string {
  const bare = editMembers(text, { enqueued_at: undefined })
  return sidekiqOf(wire) === 8 ? bare : bare.slice(0, -1) + IN_SECONDS
}

/** Returns the text of a job that a batch pushes now. `failure` are members that say why it goes to the dead set instead. */
export function completeBatchJob(text: string, now: number, failure?: string): string {
  return completed(text, failure ?? '', now)
}

/** Returns a template with further members and the time of its push. */
function completed(template: string, members: string, now: number): string {
  const wire = template.endsWith(IN_SECONDS) ? 7 : 8
  const bare = bareTemplate(template)
  const rest = members === '' ? '' : `${members},`
  return `${opened(bare)}${rest}"enqueued_at":${jsonOf('enqueued_at', timeOf(now, wire), wire)}}`
}

/** Returns the text of an object without its end, for further members. */
function opened(text: string): string {
  return text === '{}' ? '{' : `${text.slice(0, -1)},`
}

/**
 * Reads a job. Returns undefined for a text that is not JSON, has no class or no arguments, has a jid that is neither a text
 * nor a number, or has invalid `hk_` members. A job that another program wrote may have no jid, or null.
 */
export function readPayload(text: string): Payload | undefined {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const payload = value as Payload
  // Version 0.1 wrote hk_stalls. Jobs in queues may still have it: they are too many to be rewritten by a migration.
  if (payload.hk_stalls !== undefined) payload.hk_crashes ??= payload.hk_stalls as number
  if (typeof payload.class !== 'string' || !Array.isArray(payload.args) || !isSound(payload)) return undefined
  if (payload.wrapped !== undefined && typeof payload.wrapped !== 'string') payload.wrapped = undefined
  const jid: unknown = payload.jid
  if (typeof jid === 'number' || typeof jid === 'bigint') payload.jid = String(jid)
  else if (typeof jid !== 'string' && jid !== undefined && jid !== null) return undefined
  return payload
}

function isSound({ jid, hk_task, hk_run, hk_rows, hk_attempt, hk_crashes }: Payload): boolean {
  const isCount = (count: number | undefined) => count === undefined || (Number.isSafeInteger(count) && count >= 0)
  if (!isCount(hk_run) || !isCount(hk_attempt) || !isCount(hk_crashes)) return false
  if (hk_rows !== undefined && !areRows(hk_rows, jid, hk_task)) return false
  return hk_task === undefined || (typeof jid === 'string' && /^[0-9a-f]{24}$/.test(jid))
}

/** One job has at most this many rows. */
export const MOST_ROWS = 1000

function areRows(rows: unknown, jid: string, task: string | undefined): boolean {
  if (task === undefined || !Array.isArray(rows) || rows.length === 0 || rows.length > MOST_ROWS) return false
  const areIndexes = rows.every((index) => Number.isInteger(index) && index >= 0 && index < 2 ** 32)
  return areIndexes && new Set(rows).size === rows.length && splitTaskJid(`${jid}`).index === rows[0]
}

/** Returns a time as the dialect writes it. */
export function timeOf(ms: number, wire: Wire): number {
  return sidekiqOf(wire) === 8 ? ms : ms / 1000
}

/**
 * Returns a time of a job in milliseconds; undefined when it has none. In the text an integer is in milliseconds, and a
 * number with a fraction or an exponent in seconds.
 */
export function readTime(text: string, field: Time): number | undefined {
  let token: string | undefined
  try {
    token = memberText(text, field)
  } catch {
    return undefined
  }
  if (token === undefined || !/^-?\d/.test(token)) return undefined
  return /[.e]/i.test(token) ? Number(token) * 1000 : Number(token)
}

/** A time below this is in seconds, as Sidekiq 7 and 6 write it. As milliseconds it would be in the year 1973. */
const LEAST_MS = 1e11

/** Returns the milliseconds that a job waited in its queue until `startedAt`; undefined when its text does not say. */
export function waitOf({ enqueued_at: at }: Payload, startedAt: number): number | undefined {
  if (typeof at !== 'number' || !Number.isFinite(at)) return undefined
  return Math.max(startedAt - (at < LEAST_MS ? at * 1000 : at), 0)
}

export function writePayload(payload: Payload, wire: Wire = 8): string {
  const text = stringifyJson(payload, floatsOf(wire))
  if (sidekiqOf(wire) === 8) return text
  const whole: Record<string, string> = {}
  for (const field of TIMES) {
    if (Number.isSafeInteger(payload[field])) whole[field] = jsonOf(field, payload[field], wire)
  }
  return editMembers(text, whole)
}

/** Changes members of a job's text and leaves every other byte as it is; undefined removes a member. */
export function editPayload(text: string, changes: Partial<Payload>, wire: Wire = 8): string {
  // Without a prototype, so that a field may have any name.
  const edits: Record<string, string | undefined> = Object.create(null)
  for (const field of Object.keys(changes)) {
    const value = changes[field]
    edits[field] = value === undefined ? undefined : jsonOf(field, value, wire)
  }
  return editMembers(text, edits)
}

/** Writes whole seconds with a fraction, unlike JavaScript. */
function jsonOf(field: string, value: unknown, wire: Wire): string {
  const whole = sidekiqOf(wire) !== 8 && Number.isSafeInteger(value) && isTime.has(field)
  return whole ? `${value}.0` : stringifyJson(value, floatsOf(wire))
}

/**
 * Returns the members that change in a job's text when an attempt has ended. Only rows of tasks count their attempts here.
 * @param crashed true when its process died: counts a crash (`hk_crashes`), whether the handler had started or not;
 * otherwise the crashes in a row are forgotten
 */
export function attemptEnded(payload: Payload, crashed = false): Partial<Payload> {
  const changes: Partial<Payload> = {}
  if (payload.hk_task !== undefined) changes.hk_attempt = (payload.hk_attempt ?? 0) + 1
  // A deadline applies to the first start only. After a crash nobody knows whether the job had started.
  if (payload.expires_in !== undefined) changes.expires_in = undefined
  if (payload.hk_expires !== undefined) changes.hk_expires = undefined
  if (payload.hk_stalls !== undefined) changes.hk_stalls = undefined
  if (crashed) changes.hk_crashes = (payload.hk_crashes ?? 0) + 1
  else if (payload.hk_crashes !== undefined) changes.hk_crashes = undefined
  return changes
}
