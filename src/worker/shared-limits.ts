/** The limits that a job has beside those of its definition. */

import { HighkiqError } from '../job/errors.ts'
import type { LimitRule } from '../job/limit.ts'
import { isStoredName, parseStoredName, storedName } from '../job/limit.ts'
import type { Store } from '../store/contract.ts'

/** A limit of all jobs (queue undefined), or of a queue. It may have the name of another queue. */
export type SharedRule = LimitRule & { queue?: string }

type Report = (error: unknown, about: Record<string, unknown>) => void

const DURING = { during: 'reading the limits that were set' }
const APP: SharedRule = { kind: 'app', name: 'all jobs', options: {} }

/**
 * The limits of queues and of all jobs, as the code names them; and those that only `hq.limits.set` names: their numbers are in
 * the store. Without any that concerns jobs, a job costs nothing.
 */
export class SharedLimits {
  readonly #code: readonly SharedRule[]
  readonly #report: Report
  /** Queues that have the limit of another one, with that one. */
  readonly #limitQueues: ReadonlyMap<string, string>
  /** The names that were reported because they can't be read. */
  readonly #unreadable = new Set<string>()
  #hasFailed = false
  #ofQueues: readonly SharedRule[]
  #ofAll: readonly SharedRule[]
  /** Whether there is any. That of `hq.limit` is one of the jobs that name it. Each job reads it, so it is no getter. */
  areInUse: boolean
  /** The classes whose limit was set. */
  #jobs: ReadonlySet<string> = new Set()

  constructor(code: readonly SharedRule[], report: Report, limitQueues: ReadonlyMap<string, string> = new Map()) {
    this.#code = code
    this.#report = report
    this.#limitQueues = limitQueues
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

  /** Reads which limits were set. Never throws: false when it could not, and those that were read before go on. */
  async refresh(store: Store): Promise<boolean> {
    try {
      this.#apply((await store.limits.allSet()).map(({ name }) => name))
      this.#hasFailed = false
    } catch (thrown) {
      // Each failure in a row has the same cause.
      if (!this.#hasFailed) this.#report(thrown, DURING)
      this.#hasFailed = true
    }
    return !this.#hasFailed
  }

  #apply(names: readonly string[]): void {
    const known = new Set(this.#code.map((rule) => storedName(rule)))
    const added = names
      .filter((name) => !known.has(name) && this.#isReadable(name))
      .map((name) => parseStoredName(name))
    const queues = added.filter(({ kind }) => kind === 'queue').map(({ name }) => name)
    const jobs = added.filter(({ kind, position }) => kind === 'job' && position === 1).map(({ name }) => name)
    const hasApp = added.some(({ kind }) => kind === 'app')
    const code = (kind: string) => this.#code.filter((rule) => rule.kind === kind)
    this.#ofQueues = [
      ...code('queue'),
      ...queues.flatMap((name) =>
        this.#queuesWith(name).map((queue): SharedRule => ({ kind: 'queue', name, queue, options: {} })),
      ),
    ]
    this.#ofAll = hasApp ? [APP] : code('app')
    this.#jobs = new Set(jobs)
    this.areInUse = this.#code.length + queues.length + jobs.length > 0 || hasApp
  }

  /** Returns the queues that have the limit of this one. */
  #queuesWith(name: string): string[] {
    return [name, ...this.#limitQueues.keys()].filter((queue) => (this.#limitQueues.get(queue) ?? queue) === name)
  }

  #isReadable(name: string): boolean {
    if (isStoredName(name)) return true
    if (!this.#unreadable.has(name)) {
      const message = `a limit ${JSON.stringify(name)} is set that this version of Highkiq does not know: jobs run without it; upgrade this worker, or reset the limit with the version that set it`
      this.#report(new HighkiqError('STORE_UNUSABLE', message), DURING)
    }
    this.#unreadable.add(name)
    return false
  }
}
