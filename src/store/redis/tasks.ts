/** Tracked tasks: adding rows, and looking at what became of them. How events change is in lua/ledger.lua. */

import { HighkiqError } from '../../job/errors.ts'
import { splitTaskJid, taskJid } from '../../job/payload.ts'
import {
  type AddAnswer,
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  type Message,
  type NewRow,
  type TaskRecord,
  type TaskSpec,
  type TaskState,
} from '../contract.ts'
import { STATUS_NUMBER, taskKeys } from './call.ts'
import type { Argument } from './connection.ts'
import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'
import type { Sets } from './sets.ts'

/** See lua/ledger.lua. */
const RECORD_BYTES = 20
const RECORDS_AT_ONCE = 3000
const REJECTED = STATUS_NUMBER.failed
const BY_STATUS = 2 ** 32
const ROW_FIELDS = ['a', 's', 'c', 'r', 'm'] as const

const HEADER = [
  'id',
  'name',
  'job',
  'queue',
  'state',
  'run',
  'total',
  'held',
  'placed',
  'window',
  'meta',
  'created',
  'progress',
  'ended',
  ...EVENT_STATUSES,
] as const

/** An event without its texts. */
interface Record20 {
  index: number
  status: EventStatus
  run: number
  step: number
  started: number
  finished: number
  number: number
}

export class Tasks {
  readonly #server: Server
  readonly #sets: Sets

  constructor(server: Server, sets: Sets) {
    this.#server = server
    this.#sets = sets
  }

  async create(task: TaskSpec): Promise<boolean> {
    const { keys } = this.#server
    const { id, name, job, queue, template, window, keepParams, meta, createdAt, adder } = task
    const main = await this.#server.ready()
    // Where a task is looked for is written before it, so that it can always be found.
    await main.all((pipeline) =>
      pipeline.sadd(keys.ourQueues, queue).hsetnx(keys.tasks, id, queue).zadd(keys.taskAges, 'NX', createdAt, id),
    )
    if ((await main.call((client) => client.hget(keys.tasks, id))) !== queue) return false
    const fields = { name, job, queue, template, window, keep: keepParams, meta, created: createdAt }
    const [header] = keys.task(queue, id)
    const args = [adder, id, ...Object.entries(fields).flat(), 'progress', '', 'ended', '']
    return (await main.run(lua.taskCreate, [header, keys.adding(queue)], args)) === 1
  }

  async add(task: string, adder: string, from: number, rows: readonly NewRow[], now: number): Promise<AddAnswer> {
    const found = await this.#keysOf(task)
    if (!found) return { ok: false, reason: 'unknown', cursor: 0 }
    const args: Argument[] = [now, adder, from, rows.length]
    for (const { args: text, number = '', source = '', rejected } of rows) {
      const { status = 'enqueued', code = '', messages = [] } = rejected ?? {}
      args.push(text, number, source, STATUS_NUMBER[status], code, messages.length)
      for (const message of messages) args.push(JSON.stringify(message))
    }
    const main = await this.#server.ready()
    return answerOf((await main.run(lua.taskRows, [...found.keys, this.#server.keys.queues], args)) as [string, number])
  }

  async endAdding(task: string, adder: string, now: number, interrupted: boolean): Promise<AddAnswer> {
    const found = await this.#keysOf(task)
    if (!found) return { ok: false, reason: 'unknown', cursor: 0 }
    return this.#end(found, adder, now, interrupted ? 'interrupted' : 'running')
  }

  /** Whoever was adding rows is dead. */
  async interrupt(adders: ReadonlySet<string>, now: number): Promise<void> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const queues = await main.call((client) => client.smembers(keys.ourQueues))
    const adding = (await main.all((pipeline) => {
      for (const queue of queues) pipeline.hgetall(keys.adding(queue))
    })) as unknown as Record<string, string>[]
    for (const [task, by] of adding.flatMap((tasks) => Object.entries(tasks))) {
      const found = adders.has(by) ? await this.#keysOf(task) : undefined
      if (found) await this.#end(found, by, now, 'interrupted')
    }
  }

  async find(id: string): Promise<TaskRecord | null> {
    const found = await this.#keysOf(id)
    if (!found) return null
    const main = await this.#server.ready()
    return recordOf(await main.call((client) => client.hmget(found.keys[0] as string, ...HEADER)))
  }

  async list({ before, limit }: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]> {
    const { keys } = this.#server
    const after = before && { text: before.id, score: before.createdAt }
    const ids = (await this.#sets.pageOf(keys.taskAges, { ...(after ? { after } : {}), desc: true, limit })).map(
      ({ text }) => text,
    )
    await this.#server.learn(ids)
    const main = await this.#server.ready()
    const headers = await main.all((pipeline) => {
      for (const id of ids) pipeline.hmget(keys.task(this.#server.queueOf(id) ?? '', id)[0], ...HEADER)
    })
    return headers.flatMap((header) => recordOf(header as (string | null)[]) ?? [])
  }

  async events(id: string, { status, after = -1, limit }: EventQuery): Promise<EventRecord[]> {
    const found = await this.#keysOf(id)
    if (!found || limit <= 0) return []
    if (!status) return this.#withTexts(id, found.keys, await this.#records(found.keys, after + 1, limit))
    const rejected = status.filter((name) => STATUS_NUMBER[name] >= REJECTED)
    const others = new Set(status.filter((name) => STATUS_NUMBER[name] < REJECTED))
    const records = await this.#rejected(found.keys, rejected, after, limit)
    if (others.size > 0) records.push(...(await this.#scan(found.keys, others, after + 1, limit)))
    records.sort((a, b) => a.index - b.index)
    return this.#withTexts(id, found.keys, records.slice(0, limit))
  }

  async event(jid: string): Promise<EventRecord | null> {
    const { id, index } = splitTaskJid(jid)
    const found = await this.#keysOf(id)
    if (!found || !(index >= 0)) return null
    const [event] = await this.#withTexts(id, found.keys, await this.#records(found.keys, index, 1))
    return event ?? null
  }

  async message(jid: string, message: Message): Promise<void> {
    const { id, index } = splitTaskJid(jid)
    const found = await this.#keysOf(id)
    const main = await this.#server.ready()
    const answer = found && (await main.run(lua.taskMessage, found.keys, [index, JSON.stringify(message)]))
    if (answer === 1) return
    throw new HighkiqError('UNKNOWN_TASK', `no event ${jid}: its task was deleted, or it was never tracked`)
  }

  async #keysOf(id: string): Promise<{ queue: string; keys: string[] } | undefined> {
    await this.#server.learn([id])
    const queue = this.#server.queueOf(id)
    return queue === undefined ? undefined : { queue, keys: taskKeys(this.#server.keys, queue, id) }
  }

  async #end(
    { queue, keys }: { queue: string; keys: string[] },
    adder: string,
    now: number,
    state: TaskState,
  ): Promise<AddAnswer> {
    const names = this.#server.keys
    const main = await this.#server.ready()
    const all = [...keys, names.queues, names.adding(queue)]
    return answerOf((await main.run(lua.taskEnd, all, [now, adder, state])) as [string, number])
  }

  async #records(keys: readonly string[], from: number, count: number): Promise<Record20[]> {
    const main = await this.#server.ready()
    const end = (from + count) * RECORD_BYTES - 1
    const bytes = await main.call((client) => client.getrangeBuffer(keys[1] as string, from * RECORD_BYTES, end))
    return Array.from({ length: Math.floor(bytes.length / RECORD_BYTES) }, (_, i) =>
      readRecord(bytes.subarray(i * RECORD_BYTES), from + i),
    )
  }

  /** There is no index of these: the records are read through. */
  async #scan(keys: readonly string[], status: ReadonlySet<EventStatus>, from: number, limit: number) {
    const found: Record20[] = []
    for (let at = from; found.length < limit; at += RECORDS_AT_ONCE) {
      const records = await this.#records(keys, at, RECORDS_AT_ONCE)
      found.push(...records.filter((record) => status.has(record.status)))
      if (records.length < RECORDS_AT_ONCE) break
    }
    return found
  }

  async #rejected(keys: readonly string[], status: readonly EventStatus[], after: number, limit: number) {
    if (status.length === 0) return []
    const main = await this.#server.ready()
    const pages = (await main.all((pipeline) => {
      for (const name of status) {
        const base = STATUS_NUMBER[name] * BY_STATUS
        pipeline.zrangebyscore(keys[3] as string, base + after + 1, base + BY_STATUS - 1, 'LIMIT', 0, limit)
      }
    })) as string[][]
    const indexes = pages.flat().map(Number)
    const pieces = await Promise.all(indexes.map((index) => this.#records(keys, index, 1)))
    return pieces.flat()
  }

  async #withTexts(id: string, keys: readonly string[], records: readonly Record20[]): Promise<EventRecord[]> {
    if (records.length === 0) return []
    const main = await this.#server.ready()
    const fields = records.flatMap(({ index }) => ROW_FIELDS.map((letter) => letter + index))
    const texts: (string | null)[] = []
    for (let from = 0; from < fields.length; from += 5000) {
      texts.push(...(await main.call((client) => client.hmget(keys[2] as string, ...fields.slice(from, from + 5000)))))
    }
    const created = Number((await main.call((client) => client.hget(keys[0] as string, 'created'))) ?? 0)
    const at = (time: number) => (time === 0 ? null : created + time - 1)
    return records.map(({ index, status, run, step, started, finished, number }, i) => {
      const [args = null, source = null, code = null, result = null, messages = null] = texts.slice(i * 5, i * 5 + 5)
      return {
        index,
        jid: taskJid(id, index),
        number: number === 0 ? null : number - 1,
        status,
        run,
        attempts: step >> 1,
        args,
        source,
        code,
        startedAt: at(started),
        finishedAt: at(finished),
        result,
        messages: messagesOf(messages),
      }
    })
  }
}

function readRecord(bytes: Buffer, index: number): Record20 {
  return {
    index,
    status: EVENT_STATUSES[bytes.readUInt8(0) % 8] as EventStatus,
    run: bytes.readUInt16LE(1),
    step: bytes.readUIntLE(3, 3),
    started: bytes.readUIntLE(6, 5),
    finished: bytes.readUIntLE(11, 5),
    number: bytes.readUInt32LE(16),
  }
}

/** A jump in the numbers is where messages were dropped: it is told in their place. */
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

function answerOf([word, number]: [string, number]): AddAnswer {
  if (word === 'ok') return { ok: true, total: number }
  return { ok: false, reason: word as 'unknown' | 'ended' | 'taken-over' | 'gap', cursor: number }
}

function recordOf(values: readonly (string | null)[]): TaskRecord | null {
  if (values[0] === null) return null
  const header = Object.fromEntries(HEADER.map((name, i) => [name, values[i] ?? ''])) as Record<
    (typeof HEADER)[number],
    string
  >
  const counts = {} as Record<EventStatus, number>
  for (const status of EVENT_STATUSES) counts[status] = Number(header[status])
  const time = (text: string) => (text === '' ? null : Number(text))
  return {
    id: header.id,
    name: header.name,
    job: header.job,
    queue: header.queue,
    state: header.state as TaskState,
    run: Number(header.run),
    total: Number(header.total),
    held: Number(header.held),
    placed: Number(header.placed),
    window: Number(header.window),
    counts,
    meta: header.meta,
    createdAt: Number(header.created),
    progressAt: time(header.progress),
    finishedAt: time(header.ended),
  }
}
