/** The events of a task's rows. */

import { HighkiqError } from '../../../job/errors.ts'
import { splitTaskJid, taskJid } from '../../../job/payload.ts'
import {
  type CodeFilter,
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  isUnsuccessful,
  type Message,
  type ReasonCount,
  type TaskStore,
  UNSUCCESSFUL_STATUSES,
  type UnsuccessfulStatus,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { STATUS_NUMBER } from '../server/call.ts'
import { chunksOf } from '../server/chunks.ts'
import type { Argument, Reply } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

/** The size of an event's record; see ledger.lua. */
const RECORD_BYTES = 20
/** The records that a scan reads at first, and at most, with one command. */
const RECORDS_AT_FIRST = 3000
const MOST_RECORDS = 50_000
/** The records that are read for each wanted event before the index is. */
const RECORDS_FOR_EACH = 8
const LOCATIONS = ['backlog', 'window', 'elsewhere'] as const
/** The most events that one script reads. */
const EVENTS_AT_ONCE = 100
export const VALUES_OF_AN_EVENT = 9

export class TaskEvents extends StorePart implements Partial<TaskStore> {
  async events(
    id: string,
    { status, code, otherCodes, after = -1, indexes: those, limit }: EventQuery,
  ): Promise<EventRecord[]> {
    const found = await this.server.findTask(id)
    if (!found || limit <= 0) return []
    const { keys } = found
    if (those) {
      const some = [...new Set(those)].filter((index) => index >= 0).sort((a, b) => a - b)
      return this.#read(id, keys, some.slice(0, limit))
    }
    const isByCode = code !== undefined || otherCodes === true
    if (!status && !isByCode) return this.#inOrder(id, keys, after + 1, limit)
    if (status && !isByCode) {
      // Where many events have such a status, reading their records costs less than the index.
      const count = Math.min(limit * RECORDS_FOR_EACH, MOST_RECORDS)
      const { indexes, isEnd } = await this.#withStatus(keys, new Set(status), after + 1, count)
      if (isEnd || indexes.length >= limit) return this.#read(id, keys, indexes.slice(0, limit))
    }
    const rejected = UNSUCCESSFUL_STATUSES.filter((name) => !status || status.includes(name))
    const others = new Set((isByCode ? [] : (status ?? [])).filter((name) => !isUnsuccessful(name)))
    const indexes = await this.#rejected(keys, rejected, { code, otherCodes }, after, limit)
    if (others.size > 0) indexes.push(...(await this.#scan(keys, others, after + 1, limit)))
    indexes.sort((a, b) => a - b)
    return this.#read(id, keys, indexes.slice(0, limit))
  }

  async event(jid: string): Promise<EventRecord | null> {
    const { id, index } = splitTaskJid(jid)
    const found = await this.server.findTask(id)
    if (!found || !(index >= 0)) return null
    return (await this.#read(id, found.keys, [index]))[0] ?? null
  }

  async addMessage(jid: string, message: Message): Promise<void> {
    const { id, index } = splitTaskJid(jid)
    const found = await this.server.findTask(id)
    const answer = found && (await this.server.run(lua.taskAddMessage, found.keys, [index, JSON.stringify(message)]))
    if (answer === 1) return
    throw new HighkiqError('UNKNOWN_TASK', `no event ${jid}: its task was deleted, or it was never tracked`)
  }

  async reasons(id: string): Promise<ReasonCount[]> {
    const found = await this.server.findTask(id)
    if (!found) return []
    const statuses = UNSUCCESSFUL_STATUSES.map((name) => STATUS_NUMBER[name])
    const flat = (await this.server.run(lua.taskCountReasons, found.keys, statuses)) as (string | number)[]
    const reasons: ReasonCount[] = []
    for (let i = 0; i < flat.length; i += 4) {
      const [status, which, code, count] = flat.slice(i, i + 4) as [string, string, string, number]
      reasons.push({
        status: EVENT_STATUSES[Number(status)] as EventStatus,
        code: which === 'code' ? code : null,
        ...(which === 'others' ? { otherCodes: true as const } : {}),
        count,
      })
    }
    return reasons.sort(
      (a, b) => STATUS_NUMBER[a.status] - STATUS_NUMBER[b.status] || ((a.code ?? '') < (b.code ?? '') ? -1 : 1),
    )
  }

  async #inOrder(id: string, keys: readonly string[], first: number, limit: number): Promise<EventRecord[]> {
    const events: EventRecord[] = []
    while (events.length < limit) {
      const count = Math.min(limit - events.length, EVENTS_AT_ONCE)
      const from = first + events.length
      const indexes = Array.from({ length: count }, (_, i) => from + i)
      const some = await this.#read(id, keys, indexes)
      events.push(...some)
      if (some.length < count) break
    }
    return events
  }

  /** Reads all records in order: no index lists events that are not rejected. */
  async #scan(keys: readonly string[], status: ReadonlySet<EventStatus>, from: number, limit: number) {
    const found: number[] = []
    for (let at = from, count = RECORDS_AT_FIRST; found.length < limit; ) {
      const { indexes, isEnd } = await this.#withStatus(keys, status, at, count)
      found.push(...indexes)
      if (isEnd) break
      at += count
      count = Math.min(count * 4, MOST_RECORDS)
    }
    return found
  }

  /** Returns which of some consecutive events have one of these statuses, and whether there are no further events. */
  async #withStatus(keys: readonly string[], status: ReadonlySet<EventStatus>, from: number, count: number) {
    const [first, end] = [from * RECORD_BYTES, (from + count) * RECORD_BYTES - 1]
    const bytes = await this.server.call((client) => client.getrangeBuffer(keys[1] as string, first, end))
    const indexes: number[] = []
    for (let i = 0; i < bytes.length / RECORD_BYTES; i++) {
      if (status.has(EVENT_STATUSES[bytes.readUInt8(i * RECORD_BYTES) % 8] as EventStatus)) indexes.push(from + i)
    }
    return { indexes, isEnd: bytes.length < count * RECORD_BYTES }
  }

  /** Lists the indexes of rejected events: with one code, without a code, with one of the other codes, or all. */
  async #rejected(
    keys: readonly string[],
    status: readonly UnsuccessfulStatus[],
    { code, otherCodes }: CodeFilter,
    after: number,
    limit: number,
  ): Promise<number[]> {
    if (status.length === 0) return []
    const which = otherCodes ? 'others' : code === undefined ? 'all' : code === null ? 'none' : 'code'
    const numbers = status.map((name) => STATUS_NUMBER[name])
    const found: number[] = []
    for (let last: number | null = after; last !== null && found.length < limit; ) {
      const args: Argument[] = [last, limit - found.length, which, code ?? '', ...numbers]
      const [end, ...indexes] = (await this.server.run(lua.taskListRejected, keys, args)) as string[]
      found.push(...indexes.map(Number))
      last = end === '' ? null : Number(end)
    }
    return found
  }

  async #read(id: string, keys: readonly string[], indexes: readonly number[]): Promise<EventRecord[]> {
    const chunks = chunksOf(indexes, () => 0, EVENTS_AT_ONCE)
    const answers = await Promise.all(Array.from(chunks, (some) => this.server.run(lua.taskReadEvents, keys, some)))
    return answers.flatMap((answer) => {
      const [created, ...values] = answer as Reply[]
      const events: EventRecord[] = []
      for (let i = 0; i < values.length; i += VALUES_OF_AN_EVENT) {
        events.push(eventOf(id, Number(created), values.slice(i, i + VALUES_OF_AN_EVENT) as (string | null)[]))
      }
      return events
    })
  }
}

function eventOf(id: string, created: number, [numbers, ...texts]: (string | null)[]): EventRecord {
  const figures = (numbers ?? '').split(' ').map(Number)
  const [index = 0, location = 0, status = 0, run = 0, step = 0, started = 0, finished = 0, number = 0] = figures
  const [args = null, source = null, code = null, result = null, messages = null, job = null, deferral = null] = texts
  const at = (time: number) => (time === 0 ? null : created + time - 1)
  return {
    index,
    jid: taskJid(id, index),
    number: number === 0 ? null : number - 1,
    job,
    location: LOCATIONS[location] as EventRecord['location'],
    status: EVENT_STATUSES[status] as EventStatus,
    run,
    attempts: step >> 1,
    args,
    source,
    code,
    startedAt: at(started),
    finishedAt: at(finished),
    result,
    messages: messagesOf(messages),
    ...(status === STATUS_NUMBER.working ? parkedUntil(deferral, run) : {}),
  }
}

/** Reads the deferral of a working row; see ledger.lua. */
function parkedUntil(deferral: string | null, run: number): Pick<EventRecord, 'deferredUntil'> {
  const [ofRun, , ends, state] = deferral?.split(' ') ?? []
  return state === 'p' && Number(ofRun) === run ? { deferredUntil: Number(ends) } : {}
}

/** Reads messages. A gap in their numbers becomes a message that tells how many were dropped there. */
function messagesOf(lines: string | null): Message[] {
  if (!lines) return []
  let last = 0
  return lines.split('\n').flatMap((line) => {
    const space = line.indexOf(' ')
    const n = Number(line.slice(0, space))
    const message = JSON.parse(line.slice(space + 1)) as Message
    const missing = n - last - 1
    last = n
    return missing > 0 ? [{ at: message.at, code: 'dropped', params: { messages: missing } }, message] : [message]
  })
}
