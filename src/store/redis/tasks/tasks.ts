/** Tracked tasks from their creation to their end. What their events do to them is in lua/ledger.lua and closing.lua. */

import type { AddAnswer, Message, TaskChange, TaskRecord, TaskSpec } from '../../contract.ts'
import { writePlace } from '../call.ts'
import { type Argument, type Reply, readable, type Script } from '../connection.ts'
import { lua } from '../lua.generated.ts'
import type { Server } from '../server.ts'
import type { Sets } from '../sets.ts'
import { HEADER, headerOf, placeOf, recordOf, writeTolerance } from './record.ts'

/** Among a queue's tasks, those that have ended or are being cancelled stand below this score, the others above it. */
const ENDED_BELOW = 0.5

export class Tasks {
  readonly #server: Server
  readonly #sets: Sets

  constructor(server: Server, sets: Sets) {
    this.#server = server
    this.#sets = sets
  }

  async create(task: TaskSpec): Promise<boolean> {
    const { keys } = this.#server
    const { id, queue, createdAt, producer: adder } = task
    const place = writePlace(placeOf(task))
    const main = await this.#server.ready()
    // Where a task is looked for is written before it, so that it can always be found.
    await main.all((pipeline) => {
      pipeline.hsetnx(keys.tasks, id, place)
      if (!task.single) pipeline.zadd(keys.taskAges, 'NX', createdAt, id)
    })
    if ((await main.call((client) => client.hget(keys.tasks, id))) !== place) return false
    const all = [keys.task(queue, id)[0], keys.adding(queue), keys.taskTimes(queue), keys.ourQueues]
    return (await main.run(lua.taskCreate, all, [queue, adder, id, createdAt, ...headerOf(task)])) === 1
  }

  async openAdding(id: string, adder: string, now: number, instead = ''): Promise<AddAnswer> {
    const found = await this.#server.findTask(id)
    if (!found) return { ok: false, reason: 'unknown', cursor: 0 }
    return answerOf(await this.#run(lua.taskOpen, found, [now, adder, instead]))
  }

  async endAdding(id: string, adder: string, now: number, interrupted: boolean): Promise<AddAnswer> {
    const found = await this.#server.findTask(id)
    if (!found) return { ok: false, reason: 'unknown', cursor: 0 }
    return answerOf(await this.#run(lua.taskEnd, found, [now, adder, interrupted ? 1 : '']))
  }

  /** Whoever was adding rows is dead. */
  async interrupt(adders: ReadonlySet<string>, now: number): Promise<void> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const queues = await main.call((client) => client.smembers(keys.ourQueues))
    const adding = (await main.all((pipeline) => {
      for (const queue of queues) pipeline.hkeys(keys.adding(queue))
    })) as string[][]
    for (const field of adding.flat()) {
      const [, task = '', adder = ''] = /^(\S+) (.*)$/s.exec(field) ?? []
      if (adders.has(adder)) await this.endAdding(task, adder, now, true)
    }
  }

  async change(id: string, change: TaskChange, now: number): Promise<'ok' | 'ended' | null> {
    const found = await this.#server.findTask(id)
    if (!found) return null
    const { paused, reason, window, maxFailures: tolerance, onMaxFailures, name } = change
    const fields = {
      ...(paused === undefined ? {} : { paused: paused ? 1 : '' }),
      ...(reason === undefined ? {} : { reason: writeReason(reason) }),
      ...(window === undefined ? {} : { window }),
      ...(tolerance === undefined ? {} : { tolerance: writeTolerance(tolerance) }),
      ...(onMaxFailures === undefined ? {} : { beyond: onMaxFailures }),
      ...(name === undefined ? {} : { name }),
    }
    return (await this.#run(lua.taskChange, found, [now, ...Object.entries(fields).flat()])) as 'ok' | 'ended' | null
  }

  async cancel(id: string, reason: Message | null, now: number): Promise<'ok' | 'ended' | null> {
    const found = await this.#server.findTask(id)
    return found
      ? ((await this.#run(lua.taskCancel, found, [now, writeReason(reason)])) as 'ok' | 'ended' | null)
      : null
  }

  async startRun(id: string, run: number, adder: string, now: number): Promise<'ok' | 'gone' | 'cancelling' | null> {
    const found = await this.#server.findTask(id)
    return found ? ((await this.#run(lua.taskRun, found, [now, run, adder])) as 'ok' | 'gone' | 'cancelling') : null
  }

  /** All of it goes at once: the server frees the memory by and by. */
  async delete(id: string): Promise<boolean> {
    const { keys } = this.#server
    const found = await this.#server.findTask(id)
    const main = await this.#server.ready()
    if (found)
      await main.run(lua.taskDelete, [...found.keys, keys.adding(found.queue), keys.parts(found.queue, id)], [])
    // Where it is looked for goes behind it, and last where the sweep would find it again.
    await main.all((pipeline) => pipeline.zrem(keys.taskAges, id).hdel(keys.tasks, id))
    const queues = found ? [found.queue] : await main.call((client) => client.smembers(keys.ourQueues))
    await main.all((pipeline) => {
      for (const queue of queues) pipeline.zrem(keys.taskTimes(queue), id)
    })
    this.#server.forget(id)
    return true
  }

  async expired(now: number, limit: number): Promise<string[]> {
    const { keys } = this.#server
    if (limit <= 0) return []
    const main = await this.#server.ready()
    const queues = await main.call((client) => client.smembers(keys.ourQueues))
    const some = (await readable(main, (pipeline) => {
      for (const queue of queues) {
        pipeline.zrevrangebyscore(keys.taskTimes(queue), '(0', -now, 'WITHSCORES', 'LIMIT', 0, limit)
      }
    })) as (string[] | undefined)[]
    const ids: { id: string; ends: number }[] = []
    for (const flat of some) {
      for (let i = 0; flat && i < flat.length; i += 2) ids.push({ id: flat[i] as string, ends: -Number(flat[i + 1]) })
    }
    ids.sort((a, b) => a.ends - b.ends)
    return ids.slice(0, limit).map(({ id }) => id)
  }

  async cancelling(limit: number): Promise<string[]> {
    const { keys } = this.#server
    if (limit <= 0) return []
    const main = await this.#server.ready()
    const queues = await main.call((client) => client.smembers(keys.ourQueues))
    const some = (await readable(main, (pipeline) => {
      for (const queue of queues) pipeline.zrangebyscore(keys.taskTimes(queue), 0, 0, 'LIMIT', 0, limit)
    })) as (string[] | undefined)[]
    return some.flatMap((ids) => ids ?? []).slice(0, limit)
  }

  /** Lists idle tasks queue by queue. The time that is stored there may be older than the last progress. */
  async idle(
    before: number,
    { after, limit }: { after?: string | undefined; limit: number },
  ): Promise<{ tasks: TaskRecord[]; next: string | null }> {
    const { keys } = this.#server
    const [begun, score = 0, text = ''] = after === undefined ? [] : (JSON.parse(after) as [string, number, string])
    const main = await this.#server.ready()
    const queues = (await main.call((client) => client.smembers(keys.ourQueues))).sort()
    const rest = queues.filter((queue) => begun === undefined || queue >= begun)
    const counts = await readable(main, (pipeline) => {
      for (const queue of rest) pipeline.zcount(keys.taskTimes(queue), '(0', `(${before}`)
    })
    const [queue, further] = rest.filter((_, i) => Number(counts[i] ?? 0) > 0)
    if (queue === undefined) return { tasks: [], next: null }
    const from = queue === begun ? { score, text } : { score: ENDED_BELOW, text: '' }
    const page = await this.#sets.pageOf(keys.taskTimes(queue), { after: from, limit })
    const old = page.filter((entry) => entry.score < before)
    const records = await this.#records(old.map(({ text: id }) => ({ queue, id })))
    const tasks = records.filter((record) => record !== null).filter((record) => isIdle(record, before))
    const last = old.at(-1)
    if (last && old.length === limit) return { tasks, next: JSON.stringify([queue, last.score, last.text]) }
    return { tasks, next: further === undefined ? null : JSON.stringify([further, ENDED_BELOW, '']) }
  }

  async find(id: string): Promise<TaskRecord | null> {
    const found = await this.#server.findTask(id)
    return found ? ((await this.#records([{ queue: found.queue, id }]))[0] ?? null) : null
  }

  async list({ before, limit }: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]> {
    const { keys } = this.#server
    const after = before && { text: before.id, score: before.createdAt }
    const ids = (await this.#sets.pageOf(keys.taskAges, { ...(after ? { after } : {}), desc: true, limit })).map(
      ({ text }) => text,
    )
    await this.#server.learn(ids)
    const records = await this.#records(ids.map((id) => ({ queue: this.#server.placeOf(id)?.queue ?? '', id })))
    return records.filter((record) => record !== null)
  }

  async #records(tasks: readonly { queue: string; id: string }[]): Promise<(TaskRecord | null)[]> {
    const main = await this.#server.ready()
    const headers = await main.all((pipeline) => {
      for (const { queue, id } of tasks) pipeline.hmget(this.#server.keys.task(queue, id)[0], ...HEADER)
    })
    return headers.map((header) => recordOf(header as (string | null)[]))
  }

  async #run(script: Script, { queue, keys }: { queue: string; keys: string[] }, args: Argument[]): Promise<Reply> {
    const names = this.#server.keys
    const main = await this.#server.ready()
    return main.run(script, [...keys, names.queues, names.adding(queue)], args)
  }
}

function isIdle({ state, counts, progressAt, createdAt }: TaskRecord, before: number): boolean {
  return state !== 'cancelling' && counts.enqueued + counts.working > 0 && (progressAt ?? createdAt) < before
}

function writeReason(reason: Message | null): string {
  return reason ? JSON.stringify(reason) : ''
}

export function answerOf(reply: Reply): AddAnswer {
  const [word, number] = reply as [string, number]
  if (word === 'ok') return { ok: true, total: number }
  return { ok: false, reason: word as 'unknown' | 'ended' | 'taken-over' | 'gap', cursor: number }
}
