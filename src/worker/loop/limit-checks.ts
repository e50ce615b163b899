/** Asks the store whether limited jobs may start, with one call for all that were fetched together. */

import type { FetchedJob, Limit, LimitAnswer, ReleaseSlotEffect, Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { type Attempt, openAttempt } from '../run/attempt.ts'
import { limitsOf } from '../run/limit.ts'
import { awaitsLimit, requeue } from '../run/settlements.ts'
import type { Prefetch } from './prefetch.ts'
import type { RunningAttempts } from './running-attempts.ts'

/** When an attempt has not started this long after its time, the store is asked again. */
const STALE_MS = 1000

/** The slots of a capsule, as far as a check of limits starts and ends attempts in them. */
export interface LimitedSlots {
  readonly running: RunningAttempts
  readonly prefetch: Prefetch
  /** Returns whether an attempt may be dropped at its start, because it is late or cancelled. */
  mayDrop(attempt: Attempt): boolean
  /** Starts an attempt after its check. */
  startChecked(attempt: Attempt): void
  end(attempt: Attempt, settlement: Settlement): void
  /** Ends an attempt as if its handler had thrown. */
  failBeforeStart(attempt: Attempt, thrown: unknown): Promise<void>
  /** Ends an attempt after its check has thrown. The attempt may have ended already. */
  endBroken(attempt: Attempt, thrown: unknown): void
}

interface Check {
  attempt: Attempt
  limits: readonly Limit[]
  /** An earlier answer gave the attempt its slots. */
  hasSlots: boolean
}

export class LimitChecks {
  readonly #engine: Engine
  readonly #owner: () => string
  readonly #slots: LimitedSlots
  /** The limits of jobs that were fetched ahead. */
  readonly #limitsAhead = new WeakMap<FetchedJob, readonly Limit[]>()
  #checks: Check[] = []

  /** `owner` returns the owner of the fetched jobs. */
  constructor(engine: Engine, owner: () => string, slots: LimitedSlots) {
    this.#engine = engine
    this.#owner = owner
    this.#slots = slots
  }

  /** Starts the attempt when each of its limits has room. */
  add(attempt: Attempt): void {
    let limits: Limit[]
    try {
      limits = limitsOf(this.#engine, attempt)
    } catch (thrown) {
      // A limit has no key for the job.
      void this.#slots.failBeforeStart(attempt, thrown)
      return
    }
    if (limits.length > 0) this.#plan(attempt, limits)
    else this.#slots.startChecked(attempt)
  }

  /** Releases the slots of this job's limits with its settlement, so that the next waiting job gets them. */
  releaseRoom(attempt: Attempt): void {
    if (!attempt.mayBeLimited) return
    try {
      attempt.slotReleases = this.#releasesOf(attempt, limitsOf(this.#engine, attempt))
    } catch {
      // `by` throws: the job waited for none of its limits.
    }
  }

  #releasesOf({ fetched: { ticket } }: Attempt, limits: readonly Limit[]): ReleaseSlotEffect[] {
    const owner = this.#owner()
    return limits.map(({ name }) => ({ kind: 'release-slot', limit: name, owner, ticket }))
  }

  #plan(attempt: Attempt, limits: readonly Limit[], hasSlots = false): void {
    const withSlots = limits.filter(({ max }) => max > 0)
    if (!hasSlots) attempt.slotReleases = this.#releasesOf(attempt, withSlots)
    attempt.limitNames = limits.map(({ name }) => name)
    // The jobs of one answer are added in one turn of the event loop.
    if (this.#checks.push({ attempt, limits, hasSlots }) === 1) setImmediate(() => void this.#ask())
  }

  async #ask(): Promise<void> {
    const { running, prefetch } = this.#slots
    const checks = this.#checks.filter(({ attempt }) => running.isCurrent(attempt))
    this.#checks = []
    if (checks.length === 0) return
    const asked = performance.now()
    const ahead = new Set(prefetch.jobs)
    const requests = checks.map(({ attempt, limits }) => ({ ticket: attempt.fetched.ticket, limits }))
    let answers: readonly LimitAnswer[]
    try {
      answers = await this.#engine.store.limits.acquire(this.#owner(), requests)
    } catch (thrown) {
      const jids = checks.map(({ attempt }) => attempt.payload.jid)
      this.#engine.report(thrown, { during: 'asking for room in a limit', jids })
      for (const { attempt, limits } of checks) {
        if (!running.isCurrent(attempt)) continue
        // The store may have given slots all the same, also of limits that have some only because they were set.
        attempt.slotReleases = this.#releasesOf(attempt, limits)
        this.#slots.end(attempt, requeue(this.#engine, attempt, { kind: 'not-started' }))
      }
      return
    }
    // An attempt that can't start must not end the others of the same answer: they may run.
    for (const [i, check] of checks.entries()) {
      this.#attempt(check.attempt, () => this.#apply(check, answers[i] as LimitAnswer, asked))
    }
    const over = answers.flatMap((answer, i) => (answer.over === null ? [] : [checks[i]?.limits[answer.over]?.name]))
    if (over.length > 0 && ahead.size > 0) this.#applyAhead(ahead, new Set(over))
  }

  /** Runs a step of an attempt. If the step throws, only this attempt ends. */
  #attempt(attempt: Attempt, step: () => void): void {
    try {
      step()
    } catch (thrown) {
      this.#slots.endBroken(attempt, thrown)
    }
  }

  /**
   * The answer for a limit without room holds for all jobs that were fetched before the store was asked. If each of them used
   * a slot of the worker to ask, many jobs of one key would delay those of others.
   */
  #applyAhead(ahead: ReadonlySet<FetchedJob>, over: ReadonlySet<string | undefined>): void {
    const attempts: [Attempt, Limit][] = []
    this.#slots.prefetch.remove((job) => {
      const limits = ahead.has(job) ? this.#limitsOfAhead(job) : []
      const limit = limits.find(({ name }) => over.has(name))
      const attempt = limit && openAttempt(this.#engine, job)
      if (!attempt || this.#slots.mayDrop(attempt)) return false
      attempts.push([attempt, limit])
      return true
    })
    for (const [attempt, limit] of attempts) {
      this.#attempt(attempt, () => {
        this.#slots.running.add(attempt)
        this.#endOver(attempt, limit)
      })
    }
  }

  /** Returns the limits of a job; none if it would fail or be dropped at its start. */
  #limitsOfAhead(job: FetchedJob): readonly Limit[] {
    let limits = this.#limitsAhead.get(job)
    if (limits) return limits
    try {
      const attempt = openAttempt(this.#engine, job)
      limits = attempt?.mayBeLimited ? limitsOf(this.#engine, attempt) : []
    } catch {
      limits = []
    }
    this.#limitsAhead.set(job, limits)
    return limits
  }

  #apply(check: Check, { over, ms, slots }: LimitAnswer, asked: number): void {
    const { attempt, limits, hasSlots } = check
    if (over === null && slots) this.#noteSlots(check, slots)
    if (!this.#slots.running.isCurrent(attempt)) return
    if (over !== null) {
      if (!hasSlots) delete attempt.slotReleases
      this.#endOver(attempt, limits[over] as Limit)
    } else if (ms === 0) {
      this.#start(check, asked)
    } else {
      setTimeout(() => this.#attempt(attempt, () => this.#start(check, asked + ms)), Math.ceil(ms))
    }
  }

  /** Ends an attempt whose limit has no room: its job waits for the limit. */
  #endOver(attempt: Attempt, limit: Limit): void {
    this.#slots.end(attempt, awaitsLimit(this.#engine, attempt, limit, { kind: 'not-started' }))
  }

  /** Releases at its end also the slots of limits that have some only because they were set: the attempt has them now. */
  #noteSlots({ attempt, limits }: Check, slots: readonly number[]): void {
    const isKnown = (name: string) => attempt.slotReleases?.some(({ limit }) => limit === name)
    const added = limits.filter(({ name }, i) => (slots[i] as number) > 0 && !isKnown(name))
    const releases = this.#releasesOf(attempt, added)
    if (this.#slots.running.isCurrent(attempt)) attempt.slotReleases = [...(attempt.slotReleases ?? []), ...releases]
    else for (const release of releases) this.#release(release, attempt.payload.jid)
  }

  /** Releases a slot of an attempt that was requeued meanwhile. After a failure the slot stays used until the owner's lease ends. */
  #release(release: ReleaseSlotEffect, jid: string): void {
    const engine = this.#engine
    const report = (thrown: unknown) => engine.report(thrown, { during: 'releasing a slot of a limit', jid })
    void engine.store.limits.release(release).catch(report)
  }

  /** Starts an attempt, unless the process was stopped meanwhile: many late starts could exceed a rate. */
  #start({ attempt, limits }: Check, at: number): void {
    if (!this.#slots.running.isCurrent(attempt)) return
    if (performance.now() - at > STALE_MS) this.#plan(attempt, limits, true)
    else this.#slots.startChecked(attempt)
  }
}
