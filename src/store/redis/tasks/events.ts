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
import type { Reply } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

/** The size of an event's record; see ledger.lua. */
const RECORD_BYTES = 20
const RECORDS_AT_ONCE = 3000
const BY_SLOT = 2 ** 32
const BY_STATUS = 256 * BY_SLOT
const NO_CODE = 0
const OTHER_CODES = 2048
const LOCATIONS = ['backlog', 'window', 'elsewhere'] as const
/** The most events that one script reads. */
const EVENTS_AT_ONCE = 100
export const VALUES_OF_AN_EVENT = 9

/** The list of rejected events of one status and code. */
interface Range {
  status: UnsuccessfulStatus
  code: string | null
  slot: number
}

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
    const all: Range[] = [
      ...(await this.#slots(found.keys)),
      ...UNSUCCESSFUL_STATUSES.flatMap((status) =>
        [NO_CODE, OTHER_CODES].map((slot) => ({ status, code: null, slot })),
      ),
    ]
    const counts = (await this.server.all((pipeline) => {
      for (const { status, slot } of all) {
        const from = scoreOf(status, slot)
        pipeline.zcount(found.keys[3] as string, from, `(${from + BY_SLOT}`)
      }
    })) as number[]
    return all
      .map(({ status, code, slot }, i) => {
        const others = slot === OTHER_CODES ? { otherCodes: true as const } : {}
        return { status, code, ...others, count: counts[i] as number }
      })
      .filter(({ count }) => count > 0)
      .sort((a, b) => STATUS_NUMBER[a.status] - STATUS_NUMBER[b.status] || ((a.code ?? '') < (b.code ?? '') ? -1 : 1))
  }

  /** Returns the slots in which rejected events are listed by their code. */
  async #slots(keys: readonly string[]): Promise<Range[]> {
    const fields = await this.server.call((client) => client.hgetall(keys[5] as string))
    return Object.entries(fields).flatMap(([field, slot]) => {
      const [, number = '', code = ''] = /^(\d):(.*)$/s.exec(field) ?? []
      return number === ''
        ? []
        : [{ status: EVENT_STATUSES[Number(number)] as UnsuccessfulStatus, code, slot: Number(slot) }]
    })
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
    for (let at = from; found.length < limit; at += RECORDS_AT_ONCE) {
      const end = (at + RECORDS_AT_ONCE) * RECORD_BYTES - 1
      const bytes = await this.server.call((client) => client.getrangeBuffer(keys[1] as string, at * RECORD_BYTES, end))
      for (let i = 0; i < bytes.length / RECORD_BYTES; i++) {
        if (status.has(EVENT_STATUSES[bytes.readUInt8(i * RECORD_BYTES) % 8] as EventStatus)) found.push(at + i)
      }
      if (bytes.length < RECORDS_AT_ONCE * RECORD_BYTES) break
    }
    return found
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
    const slots = (await this.#slots(keys)).filter((one) => status.includes(one.status))
    const without = status.map((name): Range => ({ status: name, code: null, slot: NO_CODE }))
    const others = status.map((name): Range => ({ status: name, code: null, slot: OTHER_CODES }))
    // The code has no slot of its own.
    const isSlotless = ({ status: name }: Range) => !slots.some((one) => one.status === name && one.code === code)
    const ranges = otherCodes
      ? others
      : code === undefined
        ? [...slots, ...without, ...others]
        : code === null
          ? without
          : [...slots.filter((one) => one.code === code), ...others.filter(isSlotless)]
    const few = Math.min(limit, Math.ceil((4 * limit) / ranges.length) + 5)
    const lists = ranges.map((range) => ({ ...range, few, end: after, indexes: [] as number[] }))
    const found: number[] = []
    // The lists are complete up to `last`, where the shortest one ends. A round reads on only in those that end there.
    for (let last = after; found.length < limit && last < BY_SLOT; ) {
      const short = lists.filter(({ end }) => end === last)
      const pages = (await this.server.all((pipeline) => {
        for (const { status: name, slot, few: most } of short) {
          const first = scoreOf(name, slot)
          pipeline.zrangebyscore(keys[3] as string, first + last + 1, first + BY_SLOT - 1, 'LIMIT', 0, most)
        }
      })) as string[][]
      for (const [i, list] of short.entries()) {
        const page = (pages[i] as string[]).map(Number)
        list.end = page.length < list.few ? BY_SLOT : (page.at(-1) as number)
        list.few = Math.min(list.few * 2, RECORDS_AT_ONCE)
        const isMixed = typeof code === 'string' && list.slot === OTHER_CODES
        list.indexes.push(...(isMixed ? await this.#ofCode(keys, page, code) : page))
      }
      last = Math.min(...lists.map(({ end }) => end))
      const known = lists.flatMap(({ indexes }) => {
        const later = indexes.findIndex((index) => index > last)
        return indexes.splice(0, later === -1 ? indexes.length : later)
      })
      found.push(...known.sort((a, b) => a - b))
    }
    return found
  }

  async #ofCode(keys: readonly string[], indexes: readonly number[], code: string): Promise<number[]> {
    if (indexes.length === 0) return []
    const codes = await this.server.call((client) =>
      client.hmget(keys[2] as string, ...indexes.map((index) => `c${index}`)),
    )
    return indexes.filter((_, i) => codes[i] === code)
  }

  async #read(id: string, keys: readonly string[], indexes: readonly number[]): Promise<EventRecord[]> {
    const events: EventRecord[] = []
    for (let from = 0; from < indexes.length; from += EVENTS_AT_ONCE) {
      const some = indexes.slice(from, from + EVENTS_AT_ONCE)
      const [created, ...values] = (await this.server.run(lua.taskReadEvents, keys, some)) as Reply[]
      for (let i = 0; i < values.length; i += VALUES_OF_AN_EVENT) {
        events.push(eventOf(id, Number(created), values.slice(i, i + VALUES_OF_AN_EVENT) as (string | null)[]))
      }
    }
    return events
  }
}

function scoreOf(status: UnsuccessfulStatus, slot: number): number {
  return STATUS_NUMBER[status] * BY_STATUS + slot * BY_SLOT
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
