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
import type { Argument } from '../server/connection.ts'
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
const EVENTS_AT_ONCE = 250
// The letters of the texts of a row; see ledger.lua.
/** The deferral, which only a working row has. */
const OF_WORKING = 'd'
/** Arguments, source and class, which every caller reads. */
const ARGS = 'asj'
/** Code, result and messages, which a caller with `argsOnly` does not read. */
const OUTCOME = 'crm'

/** Reads the events with these indexes. */
type Read = (indexes: readonly number[]) => Promise<EventRecord[]>

export class TaskEvents extends StorePart implements Partial<TaskStore> {
  async events(
    id: string,
    { status, code, otherCodes, after = -1, indexes: those, argsOnly, limit }: EventQuery,
  ): Promise<EventRecord[]> {
    const found = await this.server.findTask(id)
    if (!found || limit <= 0) return []
    const { keys } = found
    const read = (indexes: readonly number[]) => this.#read(id, keys, indexes, argsOnly ? ARGS : ARGS + OUTCOME)
    if (those) {
      const some = [...new Set(those)].filter((index) => index >= 0).sort((a, b) => a - b)
      return read(some.slice(0, limit))
    }
    const isByCode = code !== undefined || otherCodes === true
    if (!status && !isByCode) return inOrder(read, after + 1, limit)
    if (status && !isByCode) {
      // Where many events have such a status, reading their records costs less than the index.
      const count = Math.min(limit * RECORDS_FOR_EACH, MOST_RECORDS)
      const { indexes, isEnd } = await this.#withStatus(keys, new Set(status), after + 1, count)
      if (isEnd || indexes.length >= limit) return read(indexes.slice(0, limit))
    }
    const rejected = UNSUCCESSFUL_STATUSES.filter((name) => !status || status.includes(name))
    const others = new Set((isByCode ? [] : (status ?? [])).filter((name) => !isUnsuccessful(name)))
    const indexes = await this.#rejected(keys, rejected, { code, otherCodes }, after, limit)
    if (others.size > 0) indexes.push(...(await this.#scan(keys, others, after + 1, limit)))
    indexes.sort((a, b) => a - b)
    return read(indexes.slice(0, limit))
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

  async #read(
    id: string,
    keys: readonly string[],
    indexes: readonly number[],
    letters = ARGS + OUTCOME,
  ): Promise<EventRecord[]> {
    const chunks = chunksOf(indexes, () => 0, EVENTS_AT_ONCE)
    const answers = await Promise.all(
      Array.from(chunks, (some) => this.server.run(lua.taskReadEvents, keys, [OF_WORKING, letters, ...some])),
    )
    const size = 1 + OF_WORKING.length + letters.length
    const events: EventRecord[] = []
    for (const answer of answers as (string | null)[][]) {
      for (let at = 1; at < answer.length; at += size)
        events.push(eventOf(id, Number(answer[0]), answer.slice(at, at + size)))
    }
    return events
  }
}

async function inOrder(read: Read, first: number, limit: number): Promise<EventRecord[]> {
  const events: EventRecord[] = []
  while (events.length < limit) {
    const count = Math.min(limit - events.length, EVENTS_AT_ONCE)
    const from = first + events.length
    const some = await read(Array.from({ length: count }, (_, i) => from + i))
    events.push(...some)
    if (some.length < count) break
  }
  return events
}

/** Makes an event of its texts, the first of which has its numbers; see task-read-events.lua. */
function eventOf(id: string, created: number, texts: (string | null)[]): EventRecord {
  const [
    numbers,
    deferral = null,
    args = null,
    source = null,
    job = null,
    code = null,
    result = null,
    messages = null,
  ] = texts
  const [at, location, state, inRun, step, started, finished, row] = (numbers as string).split(' ')
  const [index, status, run, number] = [Number(at), Number(state), Number(inRun), Number(row)]
  const event: EventRecord = {
    index,
    jid: taskJid(id, index),
    number: number === 0 ? null : number - 1,
    job,
    location: LOCATIONS[Number(location)] as EventRecord['location'],
    status: EVENT_STATUSES[status] as EventStatus,
    run,
    attempts: Number(step) >> 1,
    args,
    source,
    code,
    startedAt: timeOf(created, Number(started)),
    finishedAt: timeOf(created, Number(finished)),
    result,
    messages: messagesOf(messages),
  }
  if (status === STATUS_NUMBER.working) Object.assign(event, parkedUntil(deferral, run))
  return event
}

function timeOf(created: number, since: number): number | null {
  return since === 0 ? null : created + since - 1
}

/** Reads the deferral of a working row; see ledger.lua. */
function parkedUntil(deferral: string | null, run: number): Pick<EventRecord, 'deferredUntil'> {
  const [ofRun, , ends, state] = deferral?.split(' ') ?? []
  return state === 'p' && Number(ofRun) === run ? { deferredUntil: Number(ends) } : {}
}

/** Reads messages. A gap in their numbers becomes a message that tells how many were dropped there. */
function messagesOf(lines: string | null): Message[] {
  const messages: Message[] = []
  let last = 0
  for (const line of lines ? lines.split('\n') : []) {
    const space = line.indexOf(' ')
    const n = Number(line.slice(0, space))
    const message = JSON.parse(line.slice(space + 1)) as Message
    const missing = n - last - 1
    if (missing > 0) messages.push({ at: message.at, code: 'dropped', params: { messages: missing } })
    messages.push(message)
    last = n
  }
  return messages
}
