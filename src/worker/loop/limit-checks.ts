/** Asks the store whether limited jobs may start, with one call for all that were fetched together. */

import type { Limit, LimitAnswer } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'
import { limitsOf } from '../run/limit.ts'

/** When an attempt has not started this long after its time, the store is asked again. */
const STALE_MS = 1000

export interface LimitChecksOptions {
  /** Returns the owner of the fetched jobs. */
  owner: () => string
  /** Returns whether the attempt still has its slot of the worker. */
  isCurrent: (attempt: Attempt) => boolean
  start: (attempt: Attempt) => void
  /** Called for an attempt whose limit has no room. */
  onOver: (attempt: Attempt, limit: Limit) => void
  /** Called when a limit has no key for the job. */
  onError: (attempt: Attempt, thrown: unknown) => void
  /** Called when the store does not answer. */
  requeue: (attempt: Attempt) => void
}

interface Check {
  attempt: Attempt
  limits: readonly Limit[]
  /** An earlier answer gave the attempt its slots. */
  hasSlots: boolean
}

export class LimitChecks {
  readonly #engine: Engine
  readonly #options: LimitChecksOptions
  #checks: Check[] = []

  constructor(engine: Engine, options: LimitChecksOptions) {
    this.#engine = engine
    this.#options = options
  }

  /** Starts the attempt when each of its limits has room. */
  add(attempt: Attempt): void {
    let limits: Limit[]
    try {
      limits = limitsOf(this.#engine, attempt)
    } catch (thrown) {
      this.#options.onError(attempt, thrown)
      return
    }
    if (limits.length > 0) this.#plan(attempt, limits)
    else this.#options.start(attempt)
  }

  #plan(attempt: Attempt, limits: readonly Limit[], hasSlots = false): void {
    const { ticket } = attempt.fetched
    const owner = this.#options.owner()
    attempt.slotReleases = limits
      .filter(({ max }) => max > 0)
      .map(({ name }) => ({ kind: 'release-slot', limit: name, owner, ticket }))
    // The jobs of one answer are added in one turn of the event loop.
    if (this.#checks.push({ attempt, limits, hasSlots }) === 1) setImmediate(() => void this.#ask())
  }

  async #ask(): Promise<void> {
    const { owner, isCurrent, requeue } = this.#options
    const checks = this.#checks.filter(({ attempt }) => isCurrent(attempt))
    this.#checks = []
    if (checks.length === 0) return
    const asked = performance.now()
    const requests = checks.map(({ attempt, limits }) => ({ ticket: attempt.fetched.ticket, limits }))
    try {
      const answers = await this.#engine.store.limits.acquire(owner(), requests)
      for (const [i, check] of checks.entries()) this.#apply(check, answers[i] as LimitAnswer, asked)
    } catch (thrown) {
      const jids = checks.map(({ attempt }) => attempt.payload.jid)
      this.#engine.report(thrown, { during: 'asking for room in a limit', jids })
      for (const { attempt } of checks) if (isCurrent(attempt)) requeue(attempt)
    }
  }

  #apply(check: Check, { over, ms }: LimitAnswer, asked: number): void {
    const { attempt, limits, hasSlots } = check
    const { isCurrent, onOver } = this.#options
    if (!isCurrent(attempt)) return
    if (over !== null) {
      if (!hasSlots) delete attempt.slotReleases
      onOver(attempt, limits[over] as Limit)
    } else if (ms === 0) {
      this.#start(check, asked)
    } else {
      setTimeout(() => this.#start(check, asked + ms), Math.ceil(ms))
    }
  }

  /** Starts an attempt, unless the process was stopped meanwhile: many late starts could exceed a rate. */
  #start({ attempt, limits }: Check, at: number): void {
    const { isCurrent, start } = this.#options
    if (!isCurrent(attempt)) return
    if (performance.now() - at > STALE_MS) this.#plan(attempt, limits, true)
    else start(attempt)
  }
}
