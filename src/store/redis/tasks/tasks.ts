/** Tracked tasks, from their creation to their end. ledger.lua and closing.lua hold what events change in them. */

import type { AddAnswer, Message, TaskChange, TaskProducer, TaskRecord, TaskSpec, TaskStore } from '../../contract.ts'
import type { JobSets } from '../jobs/job-sets.ts'
import { lua } from '../lua.generated.ts'
import { writeTaskQueues } from '../server/call.ts'
import { pairs } from '../server/chunks.ts'
import type { Argument, Reply } from '../server/connection.ts'
import { type Server, StorePart } from '../server/server.ts'
import { HEADER, headerOf, recordOf, taskQueuesOf, writeMaxFailures } from './record.ts'

/** In the sorted set of a queue's tasks, ended and cancelling tasks have a lower score, the others a higher one. */
const ENDED_BELOW = 0.5

interface OpenPage {
  after?: string | undefined
  limit: number
}

interface Found {
  found: { queue: string; score: string; id: string }[]
  next: string | null
}

export class Tasks extends StorePart implements Partial<TaskStore> {
  readonly #sets: JobSets
  #reading: Promise<string[]> | undefined

  constructor(server: Server, sets: JobSets) {
    super(server)
    this.#sets = sets
  }

  async create(task: TaskSpec): Promise<boolean> {
    const { id, queue, createdAt, producer } = task
    if (!(await this.announce(task))) return false
    const { keys } = this
    const all = [keys.task(queue, id)[0], keys.producers(queue), keys.taskTimes(queue), keys.taskQueues]
    return this.server.succeeds(lua.taskCreate, all, [queue, producer, id, createdAt, ...headerOf(task)])
  }

  /** Writes the entries by which a task is found, before the task. Returns false when its id is in use. */
  async announce(task: TaskSpec): Promise<boolean> {
    const { id, createdAt } = task
    const queues = writeTaskQueues(taskQueuesOf(task))
    await this.server.all((pipeline) => {
      pipeline.hsetnx(this.keys.tasks, id, queues)
      if (!task.single) pipeline.zadd(this.keys.taskAges, 'NX', createdAt, id)
      for (const key of this.labelKeys(task.labels)) pipeline.zadd(key, 'NX', createdAt, id)
    })
    return (await this.server.call((client) => client.hget(this.keys.tasks, id))) === queues
  }

  async openAdding(id: string, producer: string, now: number, instead = ''): Promise<AddAnswer> {
    return answerOf(await this.server.runOnTask(id, lua.taskOpenAdding, [now, producer, instead]))
  }

  async endAdding(id: string, producer: string, now: number, interrupted = false): Promise<AddAnswer> {
    return answerOf(await this.server.runOnTask(id, lua.taskEndAdding, [now, producer, interrupted ? 1 : '']))
  }

  async producers(id: string): Promise<TaskProducer[]> {
    const found = await this.server.findTask(id)
    if (!found) return []
    const [values = []] = await this.server.fields([found.keys[0] as string], ['producers', 'broken'])
    const [open = [], broken = []] = values.map((lines) => (lines ?? '').split('\n').filter(Boolean))
    const producers = [
      ...open.flatMap((line) => (line.startsWith('a') ? [{ name: line.slice(1), broken: false }] : [])),
      ...broken.map((name) => ({ name, broken: true })),
    ]
    return producers.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Interrupts the tasks to which these dead producers were adding rows. */
  async interrupt(producers: ReadonlySet<string>, now: number): Promise<void> {
    const queues = await this.#queues()
    const adding = (await this.server.all((pipeline) => {
      for (const queue of queues) pipeline.hkeys(this.keys.producers(queue))
    })) as string[][]
    for (const field of adding.flat()) {
      const [, task = '', producer = ''] = /^(\S+) (.*)$/s.exec(field) ?? []
      if (producers.has(producer)) await this.endAdding(task, producer, now, true)
    }
  }

  async change(id: string, change: TaskChange, now: number): Promise<'ok' | 'ended' | null> {
    const { paused, reason, window, maxFailures, onMaxFailures, name } = change
    // A pause without a reason removes the one before, so the reason comes after it.
    const fields = {
      paused: paused === undefined ? undefined : paused ? 1 : '',
      reason: reason === undefined ? undefined : writeReason(reason),
      maxFailures: maxFailures === undefined ? undefined : writeMaxFailures(maxFailures),
      window,
      onMaxFailures,
      name,
    }
    const args = Object.entries(fields).flatMap(([field, value]) => (value === undefined ? [] : [field, value]))
    return this.#change(id, [now, ...args])
  }

  async revokeLinks(id: string): Promise<boolean> {
    return (await this.server.runOnTask(id, lua.taskRevokeLinks, [0])) === 1
  }

  async cancel(id: string, reason: Message | null, now: number): Promise<'ok' | 'ended' | null> {
    return this.#change(id, [now, 'cancelling', writeReason(reason)])
  }

  /** Deletes the whole task at once: the server frees its memory in the background. */
  async delete(id: string): Promise<boolean> {
    return this.#delete(id, 'task')
  }

  /** Deletes what is left of a task without a header, and nothing of one that came back. */
  async deleteRest(id: string): Promise<boolean> {
    return this.#delete(id, 'rest')
  }

  async #delete(id: string, what: 'task' | 'rest'): Promise<boolean> {
    const found = await this.server.findTask(id)
    if (found) {
      const labels = await this.server.call((client) => client.hget(found.keys[0] as string, 'labels'))
      const listed = this.labelKeys(labels ? (JSON.parse(labels) as TaskSpec['labels']) : undefined)
      const others = [this.keys.producers(found.queue), this.keys.parts(found.queue, id)]
      const [moving] = this.keys.movingTask(found.queue, id)
      const keys = [...found.keys, ...others, moving, ...listed]
      if ((await this.server.run(lua.taskDelete, keys, [what])) === 0) return true
    }
    // The entry by which a task is found goes after the task, and the one by which maintenance finds it goes last.
    await this.server.all((pipeline) => pipeline.zrem(this.keys.taskAges, id).hdel(this.keys.tasks, id))
    const queues = found ? [found.queue] : await this.#queues()
    await this.server.all((pipeline) => {
      for (const queue of queues) pipeline.zrem(this.keys.taskTimes(queue), id)
    })
    this.server.forgetTask(id)
    return true
  }

  async expired(now: number, limit: number): Promise<string[]> {
    if (limit <= 0) return []
    const [queues, ahead] = await Promise.all([this.#queues(), this.server.clockAhead()])
    const found = await this.server.readable((pipeline) => {
      for (const queue of queues) {
        pipeline.zrevrangebyscore(this.keys.taskTimes(queue), '(0', ahead - now, 'WITHSCORES', 'LIMIT', 0, limit)
      }
    })
    return found
      .flatMap((flat) => pairs<string, string>((flat ?? []) as string[]))
      .sort(([, a], [, b]) => Number(b) - Number(a))
      .map(([id]) => id)
      .slice(0, limit)
  }

  async cancelling(page: OpenPage): Promise<{ items: string[]; next: string | null }> {
    const { found, next } = await this.#between(0, ENDED_BELOW, page)
    return { items: found.map(({ id }) => id), next }
  }

  /** Reads the queues that have tasks, once for calls at the same time. */
  #queues(): Promise<string[]> {
    this.#reading ??= this.server
      .call((client) => client.smembers(this.keys.taskQueues))
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  /** The time in the sorted set may be older than the last progress. */
  async idle(before: number, page: OpenPage): Promise<{ items: TaskRecord[]; next: string | null }> {
    const { found, next } = await this.#between(ENDED_BELOW, before, page)
    const records = await this.#records(found)
    const items = records.filter((record) => record !== null)
    return { items: items.filter((record) => isOpen(record) && progressOf(record) < before), next }
  }

  async ahead(time: number, page: OpenPage): Promise<{ items: TaskRecord[]; next: string | null }> {
    const { found, next } = await this.#between(Math.max(time, ENDED_BELOW), Number.MAX_SAFE_INTEGER, page)
    const records = await this.#records(found)
    const items = records.filter((record, i): record is TaskRecord => {
      if (record === null || !isOpen(record) || progressOf(record) <= time) return false
      // A task that is not scheduled has the time of its creation in the sorted set.
      return record.progressAt !== null || Number(found[i]?.score) === record.createdAt
    })
    return { items, next }
  }

  /** Returns a page of the tasks whose scores are `least` or more, and below `before`: queue by queue. */
  async #between(least: number, before: number, { after, limit }: OpenPage): Promise<Found> {
    const [begun, score, last] = after === undefined ? [] : (JSON.parse(after) as [string, string, string])
    const queues = (await this.#queues()).toSorted().filter((queue) => begun === undefined || queue >= begun)
    if (queues.length === 0 || limit <= 0) return { found: [], next: null }
    const from = queues[0] === begun ? [score as string, last as string] : [least, '']
    const keys = queues.map((queue) => this.keys.taskTimes(queue))
    const flat = (await this.server.run(lua.taskListOpen, keys, [least, before, limit, ...from])) as (number | string)[]
    const found = Array.from({ length: flat.length / 3 }, (_, i) => {
      const [position, score, id] = flat.slice(i * 3, i * 3 + 3) as [number, string, string]
      return { queue: queues[position - 1] as string, score, id }
    })
    const end = found.at(-1)
    return { found, next: end && found.length === limit ? JSON.stringify([end.queue, end.score, end.id]) : null }
  }

  async find(id: string): Promise<TaskRecord | null> {
    const found = await this.server.findTask(id)
    return found ? ((await this.#records([{ queue: found.queue, id }]))[0] ?? null) : null
  }

  async page({ before, limit, label }: Parameters<TaskStore['page']>[0]): Promise<TaskRecord[]> {
    const key = label ? this.keys.label(label.name, label.value) : this.keys.taskAges
    const tasks: TaskRecord[] = []
    let after = before && { text: before.id, score: before.createdAt }
    // An entry may have no task, because it is written first.
    while (tasks.length < limit) {
      const most = limit - tasks.length
      const found = await this.#sets.pageOf(key, { ...(after ? { after } : {}), desc: true, limit: most })
      after = found.at(-1)
      const ids = found.map(({ text }) => text)
      await this.server.loadTasks(ids)
      const records = await this.#records(ids.map((id) => ({ queue: this.server.queuesOf(id)?.queue ?? '', id })))
      tasks.push(...records.filter((record) => record !== null))
      if (found.length < most) break
    }
    return tasks
  }

  labelKeys(labels: TaskSpec['labels'] = {}): string[] {
    return Object.entries(labels).map(([name, value]) => this.keys.label(name, value))
  }

  async #records(tasks: readonly { queue: string; id: string }[]): Promise<(TaskRecord | null)[]> {
    const keys = tasks.map(({ queue, id }) => this.keys.task(queue, id)[0] as string)
    return (await this.server.fields(keys, HEADER)).map(recordOf)
  }

  async #change(id: string, args: readonly Argument[]): Promise<'ok' | 'ended' | null> {
    return ((await this.server.runOnTask(id, lua.taskChange, args)) ?? null) as 'ok' | 'ended' | null
  }
}

function isOpen({ state, counts }: TaskRecord): boolean {
  return state !== 'cancelling' && counts.enqueued + counts.working > 0
}

function progressOf({ progressAt, createdAt }: TaskRecord): number {
  return progressAt ?? createdAt
}

function writeReason(reason: Message | null): string {
  return reason ? JSON.stringify(reason) : ''
}

/** `reply` is undefined when there is no such task. */
export function answerOf(reply: Reply | undefined): AddAnswer {
  const [word, number] = (reply ?? ['unknown', 0]) as [string, number]
  if (word === 'ok') return { ok: true, total: number }
  return { ok: false, reason: word as 'unknown' | 'ended' | 'taken-over' | 'gap', cursor: number }
}
