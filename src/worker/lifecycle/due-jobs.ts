/**
 * Moves scheduled jobs and retries that are due to their queues. One worker at a time does it, the holder of the leader lock,
 * so that a hundred workers cost the store no more than one. It sleeps until the next job is due.
 */

import { pruneDead } from '../../inspect/dead-set.ts'
import { checkQueueName } from '../../job/definition.ts'
import { HighkiqError, invalidOption, isUnreachable } from '../../job/errors.ts'
import { deadlineAt, postponedText } from '../../job/expiry.ts'
import { editPayload, type Payload, readPayload } from '../../job/payload.ts'
import { allAmong, jidsOf } from '../../job/rows.ts'
import { answerOf, within } from '../../job/wait.ts'
import type { Entry, SetName, Swap } from '../../store/contract.ts'
import { LeaderLock, Periodic } from '../background-service.ts'
import { definitionOf, type Engine, effectsOf } from '../engine.ts'
import type { Promote } from '../options.ts'
import type { Outcome } from '../plugin.ts'
import { keepOutcome } from '../run/results.ts'
import { LimitedJobs } from './limited-jobs.ts'

/** If the holder of the leader lock dies, jobs are late by this much. */
const LOCK_SECONDS = 3
const RENEW_MS = (LOCK_SECONDS * 1000) / 2
const BATCH = 100
/** The worker moves due jobs of one set for this long at a time: the other set and limited jobs must not wait for all of them. */
const MOVE_MS = 200
/** The jobs of a batch whose client middleware takes longer than this are moved later, one by one. */
const READY_MS = 1000
/** While the client middleware of this many jobs has not answered, no further jobs are moved. */
const MOST_UNREADY = 1000
/** A job is postponed when client middleware does not answer within this time. */
const PROMOTE_SECONDS = 30
const FIRST_DELAY = 60
const MAX_DELAY = 3600
/** The interval at which the other workers try to acquire the lock. */
const ACQUIRE_MS = 500
/** The worker remembers the delays of at most this many jobs. */
const REMEMBERED_DELAYS = 10_000
/** The interval at which the dead set is pruned, and the slots of dead owners are released. */
const PRUNE_MS = 10_000

export class DueJobs extends Periodic {
  readonly #engine: Engine
  readonly #lock: LeaderLock
  readonly #choose: Promote | undefined
  readonly #limitedJobs: LimitedJobs
  #pruneAt = 0
  /** Seconds by which jobs were postponed that could not be moved, by their text. */
  readonly #delays = new Map<string, number>()
  /** The jobs whose client middleware has not answered yet, by `keyOf`. */
  readonly #unready = new Set<string>()
  /** The outcomes of jobs that are deleted. */
  readonly #outcomes = new WeakMap<Swap, Outcome>()

  constructor(engine: Engine, pollSeconds: number, choose?: Promote) {
    const pollMs = pollSeconds * 1000
    // The holder asks seldom, because each call costs a write.
    const times = { seconds: LOCK_SECONDS, renewMs: RENEW_MS, retryMs: ACQUIRE_MS }
    const lock = new LeaderLock(() => engine.store, 'due-jobs', times)
    super(engine.report, { during: 'moving due jobs', everyMs: pollMs, retryMs: pollMs + 1000, lock })
    this.#engine = engine
    this.#lock = lock
    this.#choose = choose
    this.#limitedJobs = new LimitedJobs(engine)
  }

  protected override async run(): Promise<void> {
    if (!(await this.#lock.acquire())) return
    const failures: unknown[] = []
    const parts = [
      () => this.#moveDue('retry'),
      () => this.#moveDue('schedule'),
      () => this.#prune(),
      () => this.#limitedJobs.move(),
    ]
    for (const part of parts) {
      try {
        const ms = await part()
        if (ms !== null) this.runWithin(Math.max(ms, 1))
      } catch (thrown) {
        if (isUnreachable(thrown)) throw thrown
        // A key of another type must not block the other parts.
        failures.push(thrown)
      }
    }
    // The lock is kept, so that no other worker calls the middleware of the same jobs.
    if (this.#unready.size > 0) this.runWithin(RENEW_MS)
    if (failures.length > 0) throw failures[0]
  }

  /** Waits for the next due job with the lock, and for the next attempt to acquire it without. */
  protected override async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#lock.isHeld) return super.wait(Math.min(ms, ACQUIRE_MS), signal)
    // If the wait fails, the next run meets the same error and reports it.
    await this.#engine.store.jobSets.waitUntilDue(ms, signal).catch(() => {})
  }

  /** Resolves with the milliseconds until the next job of a set is due, 0 after MOVE_MS; null when there is none. */
  async #moveDue(set: 'retry' | 'schedule'): Promise<number | null> {
    const end = performance.now() + MOVE_MS
    for (;;) {
      // A long run must not outlast the lock.
      if (!(await this.#lock.acquire()) || this.#unready.size >= MOST_UNREADY) return null
      const now = this.#engine.now()
      const { entries, next } = await this.#engine.store.jobSets.due(set, now, BATCH + this.#unready.size)
      const isNew = (entry: Entry) => !this.#unready.has(keyOf(set, entry))
      const others = this.#unready.size === 0 ? entries : entries.filter(isNew)
      const moved = others.length > 0 && (await this.#move(set, others))
      if (next !== null && next * 1000 > now) return next * 1000 - this.#engine.now()
      // Entries that can't be moved must not block the other set.
      if (next === null || !moved || this.isStopping) return null
      if (performance.now() >= end) return 0
    }
  }

  async #prune(): Promise<null> {
    const { store, limits, now, report } = this.#engine
    if (performance.now() < this.#pruneAt) return null
    this.#pruneAt = performance.now() + PRUNE_MS
    const effects = (payload: Payload, outcome: Outcome) => effectsOf(this.#engine, payload, outcome)
    await Promise.all([
      pruneDead({ store, now, effects }, limits).catch((thrown) => report(thrown, { during: 'pruning the dead set' })),
      store.limits
        .releaseOrphanedSlots()
        .catch((thrown) => report(thrown, { during: 'releasing the slots of dead workers' })),
    ])
    return null
  }

  /** Resolves with false when none of the entries could be moved, or is being prepared. */
  async #move(set: SetName, entries: Entry[]): Promise<boolean> {
    const { cancellations, control } = this.#engine
    await control.refresh()
    const jobs = entries.map((entry) => ({ entry, payload: readPayload(entry.text) }))
    const cancelled = await cancellations.among(jobs.flatMap(({ payload }) => (payload ? jidsOf(payload) : [])))
    const preparing = jobs.map(async ({ entry, payload }) =>
      payload && allAmong(payload, cancelled)
        ? this.#dropped(entry, payload, { kind: 'cancelled', begun: false })
        : this.#promoted(set, entry, payload),
    )
    const ready = new Map<Entry, Swap>()
    const readying = entries.map(async (entry, i) => void ready.set(entry, await (preparing[i] as Promise<Swap>)))
    await within(READY_MS, Promise.all(readying))
    const unready = [...entries.keys()].filter((i) => !ready.has(entries[i] as Entry))
    for (const i of unready) this.#moveOnceReady(set, entries[i] as Entry, preparing[i] as Promise<Swap>)
    const swaps = entries.flatMap((entry) => ready.get(entry) ?? [])
    const moved = swaps.length > 0 && (await this.#swap(set, swaps))
    return moved || unready.length > 0
  }

  /** Moves a job when its client middleware has answered, without blocking the others. */
  #moveOnceReady(set: SetName, entry: Entry, preparing: Promise<Swap>): void {
    const key = keyOf(set, entry)
    this.#unready.add(key)
    void preparing
      .then((swap) => this.#swap(set, [swap]))
      .catch((thrown) => {
        // Another worker moves the job.
        if (!this.isStopping) this.#engine.report(thrown, { during: 'moving due jobs' })
      })
      .finally(() => this.#unready.delete(key))
  }

  /** Resolves with false when no entry was moved. */
  async #swap(set: SetName, swaps: Swap[]): Promise<boolean> {
    const { store, now } = this.#engine
    const answers = await store.jobSets.swap(set, swaps, now())
    await this.#keepOutcomes(swaps.filter((_, i) => answers[i] === 'ok'))
    const refused = swaps.filter((_, i) => answers[i] === 'error')
    if (refused.length === 0) return answers.includes('ok')
    // Left where they are, they would block all later entries.
    const postponed = refused.map((swap) => this.#postponed(set, swap, refusal(swap)))
    return [...answers, ...(await store.jobSets.swap(set, postponed, now()))].includes('ok')
  }

  #dropped(entry: Entry, payload: Payload, outcome: Outcome): Swap {
    this.#engine.log.info({ jid: payload.jid, class: payload.class }, `dropped: ${outcome.kind}`)
    return this.#deleted(entry, payload, outcome)
  }

  #deleted(entry: Entry, payload: Payload, outcome: Outcome): Swap {
    const swap = { ...entry, to: null, effects: effectsOf(this.#engine, payload, outcome) }
    this.#outcomes.set(swap, outcome)
    return swap
  }

  /** Keeps the outcomes for callers that wait for the results of these jobs. */
  async #keepOutcomes(swaps: readonly Swap[]): Promise<void> {
    for (const swap of swaps) {
      const outcome = this.#outcomes.get(swap)
      const payload = outcome && readPayload(swap.text)
      if (!payload) continue
      await keepOutcome(this.#engine, payload, definitionOf(this.#engine, payload, payload.queue), outcome)
    }
  }

  async #promoted(set: SetName, entry: Entry, payload: Payload | undefined): Promise<Swap> {
    const deadline = payload && set === 'schedule' ? deadlineAt(payload, entry.score) : undefined
    if (payload && deadline !== undefined && deadline < this.#engine.now()) {
      return this.#dropped(entry, payload, { kind: 'expired' })
    }
    try {
      if (!payload) return { ...entry, to: { to: 'dead', text: entry.text, score: this.#engine.now() / 1000 } }
      const target = this.#choose && (await answered(this.#targetOf(payload, this.#choose)))
      if (target instanceof Date) {
        return this.#later(set, entry, target.getTime() / 1000)
      }
      const chosen = target === undefined ? entry.text : editPayload(entry.text, { queue: target })
      const promoted = target === 'drop' ? null : await answered(this.#engine.promote(chosen))
      this.#delays.delete(entry.text)
      if (!promoted) return this.#deleted(entry, payload, { kind: 'filtered' })
      const effects = effectsOf(this.#engine, payload, { kind: 'promoted' })
      const changes = { hk_expires: deadline, hk_postponed: undefined }
      const text = deadline === undefined ? promoted.text : editPayload(promoted.text, changes)
      return { ...entry, to: { to: 'queue', queue: promoted.queue, text, end: 'back' }, effects }
    } catch (thrown) {
      return this.#postponed(set, entry, thrown)
    }
  }

  /** Asks `promote` where the job goes. @throws INVALID_OPTION */
  async #targetOf(payload: Payload, choose: Promote): Promise<string | Date | undefined> {
    const target = await choose(payload)
    if (!(target instanceof Date)) {
      if (target !== undefined) checkQueueName(target)
      return target
    }
    if (Number.isNaN(target.getTime())) throw invalidOption('promote must return a valid Date (got an invalid one)')
    // With a time that is past the job would be due again at once, for ever.
    return target.getTime() > this.#engine.now() ? target : undefined
  }

  /** Postpones a job, by twice the delay of the last time. */
  #postponed(set: SetName, { text, score }: Entry, reason: unknown): Swap {
    const delay = Math.min((this.#delays.get(text) ?? FIRST_DELAY / 2) * 2, MAX_DELAY)
    if (this.#delays.size >= REMEMBERED_DELAYS) this.#delays.clear()
    this.#engine.report(reason, { during: 'promoting a due job', again: `in ${delay} s` })
    const due = this.#engine.now() / 1000 + delay
    const later = set === 'schedule' ? postponedText(text, score, due) : text
    this.#delays.delete(text)
    this.#delays.set(later, delay)
    return this.#later(set, { text, score }, due, later)
  }

  #later(set: SetName, { text, score }: Entry, due: number, later = text): Swap {
    const payload = readPayload(text)
    const outcome: Outcome = set === 'schedule' ? { kind: 'changed', due } : { kind: 'changed' }
    const effects = payload && effectsOf(this.#engine, payload, outcome)
    return { text, score, to: { to: set, text: later, score: due }, effects }
  }
}

function keyOf(set: SetName, { text, score }: Entry): string {
  return `${set} ${score} ${text}`
}

function refusal({ to }: Swap): HighkiqError {
  const target = to?.to === 'queue' ? `queue ${to.queue}` : 'its job set'
  const message = `the store can't put a due job into ${target}: does the key hold a value of another type?`
  return new HighkiqError('STORE_UNUSABLE', message)
}

function answered<T>(promise: Promise<T>): Promise<T> {
  return answerOf('client middleware', PROMOTE_SECONDS, promise)
}
