/** Pushes jobs, lists those of queues, and keeps the progress of iterable jobs in Sidekiq's hashes. Pauses: pauses.ts. */

import { HighkiqError, PushError } from '../../../job/errors.ts'
import type { PushStep } from '../../../job/push-steps.ts'
import {
  type IterationRecord,
  type IterationState,
  type JobStore,
  ONCE_SECONDS,
  type PushItem,
  type QueueInfo,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { chunksOf } from '../server/chunks.ts'
import { storedInSteps } from '../server/confirmed-push.ts'
import { maybeDone } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

/** The most jobs that one script stores. */
const MAX_SCRIPT_JOBS = 100

type Scored = Extract<PushItem, { score: number }>

export class RedisJobStore extends StorePart implements Partial<JobStore> {
  /** @throws PushError */
  async push(items: readonly PushItem[], now: number): Promise<void> {
    if (items.length === 0) return
    const plain = items.filter(({ effects, once }) => !effects?.length && !once)
    const withEffects = items.filter(({ effects }) => effects?.length)
    const idempotent = items.filter(({ effects, once }) => once && !effects?.length)
    const steps: PushStep[] = plain.length > 0 ? [{ items: plain, put: () => this.#pushPlain(plain) }] : []
    for (const some of chunksOf(withEffects, ({ text }) => text.length, MAX_SCRIPT_JOBS)) {
      steps.push({ items: some, put: () => this.#pushWithEffects(some, now) })
    }
    for (const some of chunksOf(idempotent, ({ text }) => text.length, MAX_SCRIPT_JOBS)) {
      steps.push({ items: some, put: () => this.#pushOnce(some, now) })
    }
    await storedInSteps(this.server, steps)
    if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.server.due.notify()
  }

  async queues(only?: readonly string[]): Promise<QueueInfo[]> {
    const names = only ?? (await this.server.call((client) => client.smembers(this.keys.queues))).sort()
    const answers = await this.server.readable((pipeline) => {
      for (const name of names) pipeline.llen(this.keys.queue(name)).lindex(this.keys.queue(name), -1)
    })
    return names.map((name, i) => ({
      name,
      size: (answers[i * 2] ?? 0) as number,
      next: (answers[i * 2 + 1] ?? null) as string | null,
    }))
  }

  /** Reads from the tail of the list: the job there runs next. */
  async peek(queue: string, offset: number, limit: number): Promise<string[]> {
    if (limit <= 0) return []
    const key = this.keys.queue(queue)
    const texts = await this.server.call((client) => client.lrange(key, -offset - limit, -offset - 1))
    return texts.reverse()
  }

  /**
   * Sends the commands together, without a transaction: some may fail.
   * @throws PushError
   */
  async #pushPlain(items: readonly PushItem[]): Promise<void> {
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
    const results = await this.server.callAll(
      (client) => {
        const all: Promise<unknown>[] = []
        if (queues.size > 0) all.push(client.sadd(this.keys.queues, ...queues))
        for (const { command, key, items: listed } of lists.values()) {
          for (const some of chunksOf(listed, ({ text }) => text.length)) {
            sent.push(some)
            all.push(client[command](key, ...some.map(({ text }) => text)))
          }
        }
        for (const [key, entries] of sets) {
          for (const some of chunksOf(entries, ({ text }) => text.length)) {
            sent.push(some)
            all.push(client.zadd(key, ...some.flatMap(({ score, text }) => [score, text])))
          }
        }
        return all
      },
      wakes ? this.keys.dueChannel : undefined,
    )
    // The first command stores the names of queues, not jobs.
    const jobs = results.slice(queues.size > 0 ? 1 : 0)
    const failed = results.filter(([error]) => error)
    if (failed.length === 0) return
    const error = this.server.main.explain(failed[0]?.[0]) as HighkiqError
    const itemsOf = (is: (error: Error | null) => boolean) =>
      new Set(jobs.flatMap(([one], i) => (is(one) ? (sent[i] ?? []) : [])))
    // Workers find the jobs of a queue whose name could not be added, but the dashboard does not: they count as possibly pushed.
    const isNamed = queues.size === 0 || !results[0]?.[0]
    const parts = {
      stored: itemsOf((one) => one === null && isNamed),
      refused: itemsOf((one) => one !== null && !maybeDone(one)),
    }
    const cause = new HighkiqError(error.code, error.message, undefined, { cause: error.cause })
    throw new PushError(error.message, [], parts.refused.size < items.length, { cause, parts })
  }

  async #pushWithEffects(items: readonly PushItem[], now: number): Promise<void> {
    await this.server.runCall(lua.push, now, [], items, (call) => {
      call.add(items.length)
      for (const item of items) call.item(item, item.effects)
    })
  }

  async #pushOnce(items: readonly PushItem[], now: number): Promise<void> {
    await this.server.runCall(lua.pushOnce, now, [], [], (call) => {
      call.add(ONCE_SECONDS, items.length)
      for (const item of items) {
        call.add(call.key(this.keys.once(item.once ?? '')))
        call.item(item)
      }
    })
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
