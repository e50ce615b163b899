/** The limits that a job has beside those of its definition. */

import type { LimitRule } from '../job/limit.ts'
import { parseStoredName, storedName } from '../job/limit.ts'
import type { Store } from '../store/contract.ts'

/** A limit of all jobs (queue undefined), or of a queue. */
export type SharedRule = LimitRule & { queue?: string }

const APP: SharedRule = { kind: 'app', name: 'all jobs', options: {} }

/**
 * The limits of queues and of all jobs, as the code names them; and those that only `hq.limits.set` names: their numbers are in
 * the store. Without any, a job costs nothing.
 */
export class SharedLimits {
  readonly #code: readonly SharedRule[]
  #ofQueues: readonly SharedRule[]
  #ofAll: readonly SharedRule[]
  /** Whether there is any. Each job reads it, so it is no getter. */
  areInUse: boolean
  /** The classes whose limit was set. */
  #jobs: ReadonlySet<string> = new Set()

  constructor(code: readonly SharedRule[] = []) {
    this.#code = code
    this.#ofQueues = code.filter(({ kind }) => kind === 'queue')
    this.#ofAll = code.filter(({ kind }) => kind === 'app')
    this.areInUse = code.length > 0
  }

  /** Returns all limits of a job. @param own those of its definition */
  of(name: string, queue: string, own: readonly LimitRule[]): readonly LimitRule[] {
    const rules = [...own, ...this.#ofQueues.filter((rule) => rule.queue === queue), ...this.#ofAll]
    if (!this.#jobs.has(name) || own.some(({ kind, position = 1 }) => kind === 'job' && position === 1)) return rules
    return [{ kind: 'job', name, options: {} }, ...rules]
  }

  /** Reads which limits were set. */
  async refresh(store: Store): Promise<void> {
    const known = new Set(this.#code.map((rule) => storedName(rule)))
    const allSet = await store.limits.allSet()
    const added = allSet.filter(({ name }) => !known.has(name)).map(({ name }) => parseStoredName(name))
    const queues = added.filter(({ kind }) => kind === 'queue').map(({ name }) => name)
    const code = (kind: string) => this.#code.filter((rule) => rule.kind === kind)
    this.#ofQueues = [
      ...code('queue'),
      ...queues.map((name): SharedRule => ({ kind: 'queue', name, queue: name, options: {} })),
    ]
    this.#ofAll = added.some(({ kind }) => kind === 'app') ? [APP] : code('app')
    this.#jobs = new Set(added.flatMap(({ kind, name, position }) => (kind === 'job' && position === 1 ? [name] : [])))
    this.areInUse = this.#code.length + added.length > 0
  }
}
