/** Reading the events of a task. */

import { HighkiqError } from '../../../job/errors.ts'
import { splitTaskJid, taskJid } from '../../../job/payload.ts'
import {
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  type Message,
  type ReasonCount,
} from '../../contract.ts'
import {
  BACKLOG,
  ELSEWHERE,
  type EventRow,
  NEVER_QUEUED,
  REJECTED,
  STATUS_CODE,
  STATUS_NAME,
} from '../../sql/task-row.ts'
import type { Ledgers } from '../ledgers/ledgers.ts'
import { Tables, type Value } from '../server/database.ts'
import { givenText } from '../server/texts.ts'
import { sql } from '../sql.generated.ts'

/** A row with what belongs to it. The arrays have its messages, oldest first; null: there are none. */
interface FullRow extends EventRow {
  /** The first index of its task that was never queued. */
  next: number
  /** The deadline of a row that is parked, if it is still to be checked. */
  ends: number | null
  parked: boolean
  ns: number[] | null
  ats: number[] | null
  codes: string[] | null
  params: string[] | null
}

const MESSAGES = `LATERAL (
    SELECT array_agg(n::double precision) AS ns, array_agg(at::double precision) AS ats, array_agg(code) AS codes, array_agg(params) AS params
    FROM (SELECT n, at, code, params FROM hk.message AS message WHERE message.task = page.task AND message.idx = page.idx ORDER BY n) AS messages
  )`
const NO_MESSAGES = '(SELECT NULL AS ns, NULL AS ats, NULL AS codes, NULL AS params)'

/**
 * Returns a statement for rows as one that returns full rows. What belongs to a row is looked up for each row on its own: given
 * several indexes, a plan reads all messages of the task when the statistics say that most tasks have few.
 */
function full(rows: string, messages: string): string {
  return `SELECT page.*, (SELECT next FROM hk.task_record WHERE id = $1) AS next, parked.ends, parked.idx IS NOT NULL AS parked,
    ns, ats, codes, params
  FROM (${rows}) AS page CROSS JOIN ${messages} AS said
  LEFT JOIN LATERAL (
    SELECT idx, ends FROM hk.deferral AS deferral
    WHERE page.status = 1 AND deferral.task = page.task AND deferral.idx = page.idx AND state = 1 OFFSET 0
  ) AS parked ON true
  ORDER BY page.idx`
}

const { rowOf, those, pageAfter, pageOf, rejectedOf, codedOf, uncodedOf } = sql.event
const statements = (messages: string) => ({
  rowOf: full(rowOf, messages),
  those: full(those, messages),
  pageAfter: full(pageAfter, messages),
  pageOf: full(pageOf, messages),
  rejectedOf: full(rejectedOf, messages),
  codedOf: full(codedOf, messages),
  uncodedOf: full(uncodedOf, messages),
})
const FULL = statements(MESSAGES)
const ARGS_ONLY = statements(NO_MESSAGES)

/** Each method that reads is one statement. */
export class Events extends Tables {
  async page(
    id: string,
    { status, code, otherCodes, after = -1, indexes, argsOnly, limit }: EventQuery,
  ): Promise<EventRecord[]> {
    const wanted = argsOnly ? ARGS_ONLY : FULL
    // Every code is counted on its own, so no row has one of the other codes.
    if (otherCodes) return []
    if (indexes) return this.#records(id, wanted.those, [...new Set(indexes)], limit)
    if (!status && code === undefined) return this.#records(id, wanted.pageAfter, after, limit)
    const statuses = [...new Set((status ?? EVENT_STATUSES).map((name) => STATUS_CODE[name]))]
    if (code === null) return this.#records(id, wanted.uncodedOf, after, limit, statuses)
    if (code !== undefined) return this.#records(id, wanted.codedOf, after, limit, statuses, code)
    const isRejected = statuses.every((one) => one >= REJECTED)
    return this.#records(id, isRejected ? wanted.rejectedOf : wanted.pageOf, after, limit, statuses)
  }

  async find(jid: string): Promise<EventRecord | null> {
    const { id, index } = splitTaskJid(jid)
    // A jid of any other form, as an app may choose it.
    if (!Number.isSafeInteger(index)) return null
    return (await this.#records(id, FULL.rowOf, index))[0] ?? null
  }

  async reasons(id: string): Promise<ReasonCount[]> {
    const rows = await this.db.all<{ status: number; code: string; count: number }>(sql.event.reasons, id)
    return rows.map(({ status, code, count }) => ({
      status: STATUS_NAME[status] as EventStatus,
      code: code === '' ? null : code,
      count,
    }))
  }

  async addMessage(ledgers: Ledgers, jid: string, message: Message): Promise<void> {
    const { id, index } = splitTaskJid(jid)
    const ledger = await ledgers.of(id)
    if (!ledger || !(await ledgers.event(ledger, index))) {
      throw new HighkiqError('UNKNOWN_TASK', `no event ${jid}: its task was deleted, or it was never tracked`)
    }
    ledgers.addMessages(ledger.task.key, index, [message])
  }

  async #records(id: string, statement: string, ...values: Value[]): Promise<EventRecord[]> {
    const rows = await this.db.all<FullRow>(statement, id, ...values)
    return rows.map((row) => ({
      index: row.idx,
      jid: taskJid(id, row.idx),
      number: row.number,
      job: row.job,
      location: locationOf(row),
      status: STATUS_NAME[row.status] as EventStatus,
      run: row.run,
      attempts: row.step >> 1,
      args: row.args,
      source: row.source,
      code: row.code,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.result,
      messages: messagesOf(row),
      ...(row.parked ? { deferredUntil: row.ends ?? 0 } : {}),
    }))
  }
}

/** Returns the messages of a row. A gap in their numbers becomes a message about the dropped ones. */
function messagesOf({ ns, ats, codes, params }: FullRow): Message[] {
  return (ns ?? []).flatMap((n, i) => {
    const message: Message = {
      at: ats?.[i] as number,
      code: givenText(codes?.[i] as string),
      params: JSON.parse(params?.[i] as string),
    }
    const missing = n - (ns?.[i - 1] ?? 0) - 1
    return missing > 0 ? [{ at: message.at, code: 'dropped', params: { messages: missing } }, message] : [message]
  })
}

function locationOf({ idx, location, next }: FullRow): EventRecord['location'] {
  if (location === ELSEWHERE) return 'elsewhere'
  return location === BACKLOG || (location === NEVER_QUEUED && idx >= next) ? 'backlog' : 'window'
}
