/** Collects the keys of a script, each once, and its arguments, which name keys by their number. See moves.lua. */

import { splitTaskJid } from '../../../job/payload.ts'
import { queueOfJob } from '../../../job/priority.ts'
import {
  type Branch,
  type Effect,
  EVENT_STATUSES,
  type EventStatus,
  type Limit,
  type Pull,
  type PushItem,
  packEvents,
} from '../../contract.ts'
import type { Argument } from './connection.ts'
import type { Keys } from './keys.ts'
import type { Texts } from './texts.ts'

/** The number of a status in scripts. */
export const STATUS_NUMBER = Object.fromEntries(EVENT_STATUSES.map((name, n) => [name, n])) as Record<
  EventStatus,
  number
>

/** The queue of a task, and the queues of its callbacks. */
export interface TaskQueues {
  queue: string
  onDone: string
  onFailure: string
}

/** Returns undefined when there is no such task. */
export type TaskQueuesOf = (task: string) => TaskQueues | undefined

export class Call {
  readonly keys: string[] = []
  readonly args: Argument[] = []
  readonly #names: Keys
  readonly #texts: Texts
  readonly #queuesOf: TaskQueuesOf
  readonly #numbers = new Map<string, number>()
  readonly #tasks = new Map<string, number>()
  /** The number of the first key of the recording. */
  #recording: number | undefined

  constructor(names: Keys, texts: Texts, queuesOf: TaskQueuesOf) {
    this.#names = names
    this.#texts = texts
    this.#queuesOf = queuesOf
  }

  /** Adds a key, if it is new, and returns its number in KEYS. */
  key(key: string): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.keys.push(key)
    this.#numbers.set(key, number)
    return number
  }

  /** Adds keys in a row, also those that the call has already, and returns the number of the first one. */
  inARow(keys: readonly string[]): number {
    this.keys.push(...keys)
    return this.keys.length - keys.length + 1
  }

  /** Adds the keys of a task, and returns the number of the first one; undefined when there is no such task. */
  task(id: string): number | undefined {
    const known = this.#tasks.get(id)
    if (known !== undefined) return known
    const queues = this.#queuesOf(id)
    if (queues === undefined) return undefined
    const base = this.keys.length + 1
    this.keys.push(...taskKeys(this.#names, queues, id))
    this.#tasks.set(id, base)
    return base
  }

  add(...args: Argument[]): void {
    this.args.push(...args)
  }

  /** Adds where a job goes (null: nowhere, it is done) and the effects that change with it. */
  item(to: Pull['to'], effects: readonly Effect[] = []): void {
    if (!to) {
      this.args.push('-')
      this.effects(effects)
      return
    }
    const text = this.#texts.write(to.text)
    if (to.to === 'same') {
      this.args.push('s', text)
    } else if (to.to === 'queue') {
      this.args.push(to.end === 'front' ? 'f' : 'b', this.key(this.#names.queue(to.queue)), to.queue, text)
    } else {
      const isLimited = to.to.startsWith('limited:')
      const kind = isLimited ? 'l' : to.to === 'finished' ? 'k' : 'z'
      this.args.push(kind, this.key(this.#names.set(to.to)), to.score, text)
      if (isLimited) this.args.push(this.key(this.#names.limitedQueues), queueOfJob(to.text))
    }
    this.effects(effects)
  }

  /** Adds when a job is due, and the locks that its push needs. */
  claims(item: PushItem | undefined): void {
    const claims = item?.unique?.claims ?? []
    this.args.push(item?.to === 'schedule' ? item.score : '', claims.length)
    for (const { key, ends = '', outlives } of claims) this.args.push(key, ends, outlives ? '-' : '')
  }

  /** Adds the jobs that a job is split into. */
  branches(branches: readonly Branch[] = []): void {
    this.args.push(branches.length)
    for (const { to, effects } of branches) this.item(to, effects)
  }

  effects(effects: readonly Effect[]): void {
    const at = this.args.push(0) - 1
    let count = 0
    for (const effect of effects) if (this.#effect(effect)) count++
    this.args[at] = count
  }

  /** Returns false, and adds nothing, for an event of a task that does not exist. */
  #effect(effect: Effect): boolean {
    const names = this.#names
    if (effect.kind === 'iteration') {
      const { executions, cursor, runtime } = effect.state ?? { executions: 0, cursor: '', runtime: 0 }
      this.args.push('i', this.key(names.iteration(effect.jid)), executions, cursor, runtime)
    } else if (effect.kind === 'clear-cancellation') {
      this.args.push('u', this.key(names.cancelled), this.key(names.iteration(effect.jid)))
      this.args.push(effect.jid, effect.dropped ? (effect.begun ? 'b' : 'd') : '')
    } else if (effect.kind === 'cron-run') {
      const { name, jid, state, startedAt, endedAt } = effect
      this.args.push('c', this.key(names.cron(name)), jid, state, startedAt ?? '', endedAt ?? '')
    } else if (effect.kind === 'release-lock') {
      this.args.push('l', this.key(names.lock(effect.lock)), effect.holder)
    } else if (effect.kind === 'release-unique') {
      this.args.push('q', this.key(names.unique), effect.key, effect.holder)
    } else if (effect.kind === 'keep-unique') {
      const { key, holder, ends = '', due = '', acquire } = effect
      this.args.push('k', this.key(names.unique), key, holder, ends, due, acquire ? 1 : 0)
    } else if (effect.kind === 'release-slot') {
      this.args.push('s', this.key(names.limits), this.key(names.limitChecks), this.key(names.slots(effect.limit)))
      this.args.push(effect.limit, `${effect.owner} ${effect.ticket}`)
    } else if (effect.kind === 'await-limit') {
      this.args.push('w', this.key(names.limits), this.key(names.limitChecks), effect.limit.name, specOf(effect.limit))
    } else if (effect.kind === 'delete-result') {
      this.args.push('d', this.key(names.result(effect.jid)))
    } else if (effect.kind === 'record') {
      this.#recording ??= this.keys.push(...names.recording) - names.recording.length + 1
      this.args.push('r', this.#recording, packEvents([effect]))
    } else if (effect.kind === 'batch') {
      const { bid, member, change, note } = effect
      this.args.push('b', bid, member, change, note?.key ?? '', this.#texts.write(note?.text ?? ''))
    } else {
      const { id, index } = splitTaskJid(effect.jid)
      const base = this.task(id)
      if (base === undefined) return false
      const { run, attempt, status, startedAt = '', window, code = '', result = '', messages = [] } = effect
      this.args.push('e', base, index, run, attempt, STATUS_NUMBER[status], effect.at, startedAt, window, code, result)
      this.args.push(messages.length)
      for (const message of messages) this.args.push(JSON.stringify(message))
    }
    return true
  }
}

/** Returns the numbers of a limit as rates.lua reads them. */
export function specOf({ max, count, per, burst, window }: Limit): string {
  return [max, count, per, burst, window].join(' ')
}

/** Returns the keys of a task in the order of ledger.lua. */
export function taskKeys(names: Keys, { queue, onDone, onFailure }: TaskQueues, id: string): string[] {
  return [
    ...names.task(queue, id),
    names.queue(queue),
    names.backlog(queue),
    names.taskTimes(queue),
    names.queue(onDone),
    names.queue(onFailure),
  ]
}

/** Writes the value of a task in the hash of all tasks. */
export function writeTaskQueues({ queue, onDone, onFailure }: TaskQueues): string {
  return onDone === queue && onFailure === queue ? queue : [queue, onDone, onFailure].join('\n')
}

export function readTaskQueues(text: string): TaskQueues {
  const [queue = '', onDone = queue, onFailure = queue] = text.split('\n')
  return { queue, onDone, onFailure }
}

/** Yields the ids of the tasks that effects change. */
export function* tasksOf(items: Iterable<{ effects?: readonly Effect[] | undefined }>): Generator<string> {
  let last: string | undefined
  for (const { effects = [] } of items) {
    for (const effect of effects) {
      if (effect.kind !== 'event' || (last !== undefined && effect.jid.startsWith(last))) continue
      last = splitTaskJid(effect.jid).id
      yield last
    }
  }
}
