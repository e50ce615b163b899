/** Jobs that are ready: pushing them, and looking at them. */

import { HighkiqError, PushError } from '../../job/errors.ts'
import { inSteps, type PushStep } from '../../job/push-steps.ts'
import { ONCE_SECONDS, type PushItem, type QueueInfo } from '../contract.ts'
import { tasksOf } from './call.ts'
import { maybeDone, readable } from './connection.ts'
import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

/** One command carries no more. */
const MOST_ITEMS = 1000
const MOST_BYTES = 1_000_000
/** One script does no more. */
const MOST_MOVES = 100

type Scored = Extract<PushItem, { score: number }>

export class Queues {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /** @throws PushError */
  async push(items: readonly PushItem[], now: number): Promise<void> {
    if (items.length === 0) return
    const plain = items.filter(({ effects, once }) => !effects?.length && !once)
    const tracked = items.filter(({ effects }) => effects?.length)
    const once = items.filter(({ effects, once }) => once && !effects?.length)
    const steps: PushStep[] = plain.length > 0 ? [{ items: plain, put: () => this.#pushPlain(plain) }] : []
    for (const some of pieces(tracked, ({ text }) => text.length, MOST_MOVES)) {
      steps.push({ items: some, put: () => this.#pushTracked(some, now) })
    }
    for (const some of pieces(once, ({ text }) => text.length, MOST_MOVES)) {
      steps.push({ items: some, put: () => this.#pushOnce(some, now) })
    }
    await storedInSteps(this.#server, steps)
  }

  /** All of them, or some whether they are listed or not. */
  async list(only?: readonly string[]): Promise<QueueInfo[]> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const names = only ?? (await main.call((client) => client.smembers(keys.queues))).sort()
    const answers = await readable(main, (pipeline) => {
      for (const name of names) pipeline.llen(keys.queue(name)).lindex(keys.queue(name), -1)
    })
    return names.map((name, i) => ({
      name,
      size: (answers[i * 2] ?? 0) as number,
      next: (answers[i * 2 + 1] ?? null) as string | null,
    }))
  }

  /** Next to run first: from the tail of the list. */
  async peek(queue: string, offset: number, limit: number): Promise<string[]> {
    if (limit <= 0) return []
    const main = await this.#server.ready()
    const key = this.#server.keys.queue(queue)
    const texts = await main.call((client) => client.lrange(key, -offset - limit, -offset - 1))
    return texts.reverse()
  }

  /**
   * Sends the commands together; each one is all or nothing.
   * @throws PushError
   */
  async #pushPlain(items: readonly PushItem[]): Promise<void> {
    const { keys } = this.#server
    const main = await this.#server.ready()
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
          lists.set(id, { command, key: keys.queue(item.queue), items: [item] })
          queues.add(item.queue)
        }
      } else {
        const key = keys.set(item.to, '')
        const entries = sets.get(key)
        if (entries) entries.push(item)
        else sets.set(key, [item])
        wakes ||= item.to !== 'dead'
      }
    }
    const results = await main.each(
      (pipeline) => {
        if (queues.size > 0) pipeline.sadd(keys.queues, ...queues)
        for (const { command, key, items: all } of lists.values()) {
          for (const some of pieces(all, ({ text }) => text.length)) {
            sent.push(some)
            pipeline[command](key, ...some.map(({ text }) => text))
          }
        }
        for (const [key, entries] of sets) {
          for (const some of pieces(entries, ({ text }) => text.length)) {
            sent.push(some)
            pipeline.zadd(key, ...some.flatMap(({ score, text }) => [score, text]))
          }
        }
      },
      wakes ? keys.wake : undefined,
    )
    // This command stores the names of queues, not jobs.
    const jobs = results.slice(queues.size > 0 ? 1 : 0)
    const failed = results.filter(([error]) => error)
    if (failed.length === 0) return
    const error = main.explain(failed[0]?.[0]) as HighkiqError
    const itemsOf = (is: (error: Error | null) => boolean) =>
      new Set(jobs.flatMap(([one], i) => (is(one) ? (sent[i] ?? []) : [])))
    // A job would be stored, but never found, in a queue whose name is missing.
    const isNamed = queues.size === 0 || !results[0]?.[0]
    const parts = {
      stored: itemsOf((one) => one === null && isNamed),
      refused: itemsOf((one) => one !== null && !maybeDone(one)),
    }
    const cause = new HighkiqError(error.code, error.message, undefined, { cause: error.cause })
    throw new PushError(error.message, [], parts.refused.size < items.length, { cause, parts })
  }

  async #pushTracked(items: readonly PushItem[], now: number): Promise<void> {
    const server = this.#server
    await server.learn(tasksOf(items.flatMap(({ effects }) => effects ?? [])))
    const main = await server.ready()
    const call = server.call()
    call.key(server.keys.queues)
    call.add(now, server.keys.wake, items.length)
    for (const item of items) call.item(item, item.to === 'queue' ? item.queue : '', item.effects)
    await main.run(lua.push, call.keys, call.args)
  }

  async #pushOnce(items: readonly PushItem[], now: number): Promise<void> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const call = this.#server.call()
    call.key(keys.queues)
    call.add(now, keys.wake, ONCE_SECONDS, items.length)
    for (const item of items) {
      const queue = item.to === 'queue' ? item.queue : ''
      call.add(call.key(keys.once(queue, item.once ?? '')))
      call.item(item, queue)
    }
    await main.run(lua.pushOnce, call.keys, call.args)
  }
}

/** `stored`: some of the jobs are stored for certain. */
export function pushError(thrown: unknown, stored: boolean): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  return new PushError(thrown.message, [], stored || maybeDone(thrown), { cause: thrown })
}

/**
 * Pushes in steps. When it waits for replicas, nothing is certainly stored before they confirm.
 * @throws PushError
 */
export function storedInSteps(server: Server, steps: readonly PushStep[]): Promise<void> {
  const around = server.options.waitForReplicas > 0 ? (work: () => Promise<void>) => server.storing(work) : undefined
  return inSteps(steps, { maybeDone, around })
}

/** At most so many and so long at once, but for one that is longer by itself. */
export function* pieces<T>(items: readonly T[], lengthOf: (item: T) => number, most = MOST_ITEMS): Generator<T[]> {
  let piece: T[] = []
  let sum = 0
  for (const item of items) {
    const length = lengthOf(item)
    if (piece.length > 0 && (piece.length >= most || sum + length > MOST_BYTES)) {
      yield piece
      piece = []
      sum = 0
    }
    piece.push(item)
    sum += length
  }
  if (piece.length > 0) yield piece
}
