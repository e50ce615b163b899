/** Pushes jobs, lists those of queues, and keeps the progress of iterable jobs in Sidekiq's hashes. pauses.ts has the pauses. */

import type { Redis } from 'ioredis'
import { HighkiqError, PushError } from '../../../job/errors.ts'
import { baseQueue, HIGHEST_PRIORITY, isPriorityName, priorityName } from '../../../job/priority.ts'
import type { PushStep } from '../../../job/push-steps.ts'
import {
  type IterationRecord,
  type IterationState,
  type JobStore,
  NOTHING_REFUSED,
  ONCE_SECONDS,
  type PushItem,
  packEvents,
  type QueueInfo,
  type RefusedPush,
  recordsIn,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { chunksOf, pairs } from '../server/chunks.ts'
import { storedInSteps } from '../server/confirmed-push.ts'
import type { Argument } from '../server/connection.ts'
import { maybeDone } from '../server/errors.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { PriorityQueues } from './priority-queues.ts'
import { groupsOf, MAX_SCRIPT_JOBS, type PushGroup, type QueueItem } from './push-groups.ts'

/** Redis stores the jobs of a command while the next one is on its way, and the texts of short commands cost less. */
const MAX_COMMAND_JOBS = 250
/** From this many jobs on, a transaction pushes them: a script takes half a microsecond a job to pass their texts on. */
const MIN_COMMAND_JOBS = 50

/** The answer of ZADD NX for one text that the set already has. */
const NOT_ADDED = 0

/** The most lists that one script reads, so that others need not wait long for it. */
const MAX_LISTS = 500

type Scored = Extract<PushItem, { score: number }>

export class RedisJobStore extends StorePart implements Partial<JobStore> {
  readonly #priorities: PriorityQueues

  constructor(server: Server, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
  }

  /** @throws PushError */
  async push(items: readonly PushItem[], now: number): Promise<readonly RefusedPush[]> {
    if (items.length === 0) return NOTHING_REFUSED
    const groups = groupsOf(items)
    const steps = groups.flatMap((group) => this.#stepsOf(group, now))
    const refused = await storedInSteps(this.server, steps)
    if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.server.due.notify()
    if (groups.every(({ kind }) => kind === 'plain' || kind === 'recorded')) return refused
    this.#priorities.pushed(
      items.flatMap((item) => (item.to === 'queue' && isPriorityName(item.queue) ? [item.queue] : [])),
    )
    return refused
  }

  #stepsOf({ kind, items }: PushGroup, now: number): PushStep<RefusedPush>[] {
    const most = kind === 'recorded' ? undefined : MAX_SCRIPT_JOBS
    const chunks = kind === 'plain' ? [items] : chunksOf(items, ({ text }) => text.length, most)
    return Array.from(chunks, (some) => ({ items: some, put: () => this.#put(kind, some, now) }))
  }

  #put(kind: PushGroup['kind'], items: readonly PushItem[], now: number): Promise<RefusedPush[]> | Promise<void> {
    if (kind === 'plain') return this.#pushPlain(items, now)
    if (kind === 'recorded') return this.#pushRecorded(items as readonly QueueItem[], now)
    if (kind === 'effects') return this.#pushWithEffects(items, now)
    if (kind === 'once') return this.#pushOnce(items, now)
    return this.#pushChecked(items, now)
  }

  async queues(only?: readonly string[]): Promise<QueueInfo[]> {
    if (only) await this.#priorities.readIfOld()
    const names = only ?? (await this.#priorities.read())
    const lists = names.map((name) => this.#priorities.listsOf([name]))
    const [[limitedQueues], heads] = await Promise.all([
      this.server.readable((pipeline) => pipeline.hgetall(this.keys.limitedQueues)),
      this.#headsOf(lists.flat()),
    ])
    // A queue may have any name.
    const limited = new Map(Object.entries((limitedQueues ?? {}) as unknown as Record<string, string>))
    let read = 0
    return names.map((name, i) => {
      const first = read
      read += (lists[i] as readonly string[]).length
      const of = heads.slice(first, read)
      const size = of.reduce((sum, [length]) => sum + length, 0)
      const [next = null, ...others] = of.flatMap(([, text]) => (text === null ? [] : [text]))
      return { name, size, limited: Number(limited.get(name) ?? 0), next, ...(others.length > 0 ? { others } : {}) }
    })
  }

  /** Returns the length and the next job of each list. */
  async #headsOf(lists: readonly string[]): Promise<[length: number, next: string | null][]> {
    const keys = lists.map((list) => this.keys.queue(list))
    const answers = await Promise.all(
      [...chunksOf(keys, () => 0, MAX_LISTS)].map((some) => this.server.run(lua.readQueues, some, [])),
    )
    return answers.flatMap((answer) => pairs<number, string | null>(answer as unknown[]))
  }

  /** Reads from the tail of the list: the job there runs next. */
  async peek(queue: string, offset: number, limit: number): Promise<string[]> {
    const peeked: string[] = []
    let before = offset
    for (const list of await this.#priorities.current(queue)) {
      const left = limit - peeked.length
      if (left <= 0) break
      const key = this.keys.queue(list)
      const texts = await this.server.call((client) => client.lrange(key, -before - left, -before - 1))
      peeked.push(...texts.reverse())
      if (list !== queue) before = Math.max(before - (await this.server.call((client) => client.llen(key))), 0)
    }
    return peeked
  }

  /**
   * Sends the commands together, without a transaction: some may fail.
   * @throws PushError
   */
  async #pushPlain(items: readonly PushItem[], now: number): Promise<void> {
    const queues = new Set<string>()
    const lists = new Map<string, { command: 'lpush' | 'rpush'; key: string; items: PushItem[] }>()
    const sets = new Map<string, Scored[]>()
    /** The items of each command that stores jobs. */
    const sent: PushItem[][] = []
    let wakes = false
    for (const item of items) {
      if (item.to === 'queue') {
        const command = item.end === 'front' ? 'rpush' : 'lpush'
        const id = command + item.queue
        const list = lists.get(id)
        if (list) list.items.push(item)
        else {
          lists.set(id, { command, key: this.keys.queue(item.queue), items: [item] })
          queues.add(item.queue)
        }
      } else {
        const key = this.keys.set(item.to)
        const entries = sets.get(key)
        if (entries) entries.push(item)
        else sets.set(key, [item])
        wakes ||= item.to !== 'dead'
      }
    }
    // A job is stored when the server has executed its LPUSH, RPUSH or ZADD, so the answer of that command counts.
    const results = await this.server.callAll(
      (client) => {
        const all: Promise<unknown>[] = []
        if (queues.size > 0) all.push(client.sadd(this.keys.queues, ...queues))
        for (const { command, key, items: listed } of lists.values()) {
          for (const some of chunksOf(listed, ({ text }) => text.length, MAX_COMMAND_JOBS)) {
            sent.push(some)
            all.push(client[command](key, ...some.map(({ text }) => text)))
          }
        }
        for (const [key, entries] of sets) {
          for (const some of chunksOf(entries, ({ text }) => text.length, MAX_COMMAND_JOBS)) {
            sent.push(some)
            all.push(this.#addToSet(client, key, some))
          }
        }
        return all
      },
      wakes ? this.keys.dueChannel : undefined,
    )
    // The first command stores the names of queues, not jobs.
    const namesError = queues.size > 0 ? results.shift()?.[0] : null
    const errors = results.map(([error]) => error)
    if (namesError || errors.some(Boolean)) throw this.#partlyPushed(items.length, sent, errors, namesError)
    // The texts of these jobs are in their sets already.
    const notAdded = sent.filter((_, i) => results[i]?.[1] === NOT_ADDED)
    if (notAdded.length === 0) return
    await this.#pushWithEffects(notAdded.flat(), now).catch((thrown: Error) => {
      const unstored = sent.map((some) => (notAdded.includes(some) ? thrown : null))
      throw this.#partlyPushed(items.length, sent, unstored, null)
    })
  }

  /** Adds jobs to a set. For one job the answer is NOT_ADDED when the set has its text already. */
  #addToSet(client: Redis, key: string, some: readonly Scored[]): Promise<unknown> {
    const [first] = some as [Scored]
    if (some.length === 1) return client.zadd(key, 'NX', first.score, first.text)
    const args = some.flatMap(({ score, text }) => [score, this.server.texts.write(text)])
    return client.call(...this.server.main.scriptCall('EVAL', lua.pushToSet, [key], args))
  }

  /** Returns the error of a push of `n` jobs. `errors` are those of the commands that sent the jobs, null for none. */
  #partlyPushed(
    n: number,
    sent: readonly PushItem[][],
    errors: readonly (Error | null)[],
    namesError: Error | null | undefined,
  ): PushError {
    const error = this.server.main.explain(namesError ?? errors.find(Boolean)) as HighkiqError
    const itemsOf = (is: (error: Error | null) => boolean) =>
      new Set(errors.flatMap((one, i) => (is(one) ? (sent[i] ?? []) : [])))
    const parts = {
      // Workers find the jobs of a queue whose name could not be added, but the dashboard does not: they count as possibly pushed.
      stored: itemsOf((one) => one === null && !namesError),
      notStored: itemsOf((one) => one !== null && !maybeDone(one)),
    }
    const cause = new HighkiqError(error.code, error.message, undefined, { cause: error.cause })
    return new PushError(error.message, [], parts.notStored.size < n, { cause, parts })
  }

  async #pushRecorded(items: readonly QueueItem[], now: number): Promise<void> {
    const groups = new Map<string, QueueItem[]>()
    let group: QueueItem[] = []
    for (const item of items) {
      if (item.queue !== group[0]?.queue || item.end !== group[0].end) {
        const id = item.end + item.queue
        group = groups.get(id) ?? []
        groups.set(id, group)
      }
      group.push(item)
    }
    const records = recordsIn(items)
    const args: Argument[] = [now, records.length, packEvents(records)]
    if (groups.size === 1 && items.length >= MIN_COMMAND_JOBS) {
      await this.#pushInTransaction(items, args)
      return
    }
    const keys = [this.keys.queues, ...this.keys.recording]
    for (const some of groups.values()) {
      const [{ end, queue }] = some as [QueueItem]
      keys.push(this.keys.queue(queue))
      args.push(end === 'front' ? 'RPUSH' : 'LPUSH', queue, some.length)
      for (const { text } of some) args.push(this.server.texts.write(text))
    }
    await this.server.run(lua.pushRecorded, keys, args)
  }

  /** Pushes jobs to one end of one queue, and records `events` (append-events.lua) if they could be pushed. */
  async #pushInTransaction(items: readonly QueueItem[], events: readonly Argument[]): Promise<void> {
    const { keys, main, texts } = this.server
    const [{ end, queue }] = items as [QueueItem]
    const list = keys.queue(queue)
    const answers = await this.server.callAll((client) => [
      client.multi({ pipeline: false }),
      client.sadd(keys.queues, queue),
      client[end === 'front' ? 'rpush' : 'lpush'](list, ...items.map(({ text }) => texts.write(text))),
      client.call(...main.scriptCall('EVAL', lua.appendEvents, [...keys.recording, list], events)),
      client.exec(),
    ])
    // When a command is refused before the transaction runs, nothing is carried out.
    const [refused] = answers.find(([error]) => error) ?? []
    if (refused) throw main.explain(refused)
    const done = answers.at(-1)?.[1] as unknown as [Error | null][]
    const [unnamed, unpushed, unrecorded] = done.map(([error]) => error)
    if (unpushed) throw main.explain(unpushed)
    const failed = unnamed ?? unrecorded
    if (!failed) return
    const cause = main.explain(failed) as HighkiqError
    throw new PushError(cause.message, [], true, { cause })
  }

  async #pushWithEffects(items: readonly PushItem[], now: number): Promise<void> {
    await this.server.runCall(lua.pushWithEffects, now, [], items, (call) => {
      call.add(items.length)
      for (const item of items) call.item(item, item.effects)
    })
  }

  async #pushOnce(items: readonly PushItem[], now: number): Promise<void> {
    await this.server.runCall(lua.pushOnce, now, [], [], (call) => {
      call.add(ONCE_SECONDS, items.length)
      for (const item of items) {
        call.add(call.key(this.keys.once(item.once ?? '')))
        call.item(item, item.effects)
      }
    })
  }

  async #pushChecked(items: readonly PushItem[], now: number): Promise<RefusedPush[]> {
    const answers = await this.server.runCall(
      lua.pushChecked,
      now,
      [this.keys.unique, this.keys.limitedQueues],
      items,
      (call) => {
        const firstLists = new Map<string, number>()
        for (const item of items) {
          if (item.maxLength === undefined || item.to !== 'queue') continue
          const queue = baseQueue(item.queue)
          if (!firstLists.has(queue)) firstLists.set(queue, call.inARow(this.#allLists(queue)))
        }
        call.add(ONCE_SECONDS, HIGHEST_PRIORITY + 1, items.length)
        for (const item of items) {
          const { unique, once, maxLength } = item
          call.add(unique?.jid ?? '')
          call.claims(item)
          call.add(once === undefined ? 0 : call.key(this.keys.once(once)))
          const queue = item.to === 'queue' ? baseQueue(item.queue) : ''
          call.add(maxLength === undefined ? 0 : (firstLists.get(queue) ?? 0), queue, maxLength ?? 0)
          call.item(item, item.effects)
        }
      },
    )
    return items.flatMap((item, i) => {
      const [holder, due] = (answers as (string | number)[]).slice(2 * i, 2 * i + 2)
      if (holder === '') return []
      return { item, holder: typeof holder === 'string' ? holder : null, due: due ? Number(due) : null }
    })
  }

  #allLists(queue: string): string[] {
    return Array.from({ length: HIGHEST_PRIORITY + 1 }, (_, n) => this.keys.queue(priorityName(queue, n)))
  }

  async iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    const answers = await this.server.all((pipeline) => {
      for (const jid of jids) pipeline.hgetall(this.keys.iteration(jid))
    })
    return answers.map((answer) => recordOf(answer as unknown as Record<string, string>))
  }

  async saveIteration(jid: string, { executions, cursor, runtime }: IterationState): Promise<boolean> {
    const args = [executions, cursor, runtime]
    return this.server.succeeds(lua.saveIteration, [this.keys.iteration(jid)], args)
  }
}

/** Reads the hash of an iteration, as Sidekiq writes it. */
function recordOf({ ex, c, rt, cancelled }: Record<string, string>): IterationRecord | null {
  if (ex === undefined && c === undefined && rt === undefined && cancelled === undefined) return null
  return {
    executions: Number(ex ?? 0),
    runtime: Number(rt ?? 0),
    cursor: c ?? null,
    cancelled: cancelled === undefined ? null : Number(cancelled) * 1000,
  }
}
