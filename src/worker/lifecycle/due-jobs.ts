/**
 * Moves what is due – scheduled jobs and retries – into its queue. One process at a time does it, so that a hundred cost
 * the store no more than one; it sleeps until the next job is due.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { checkQueueName } from '../../job/definition.ts'
import { HighkiqError } from '../../job/errors.ts'
import { deadlineAt } from '../../job/expiry.ts'
import { editPayload, type Payload, readPayload } from '../../job/payload.ts'
import { allAmong, jidsOf } from '../../job/rows.ts'
import { answerOf, within } from '../../job/wait.ts'
import type { Entry, SetName, Swap } from '../../store/contract.ts'
import type { BackgroundService } from '../background-service.ts'
import { definitionOf, type Engine, effectsOf } from '../engine.ts'
import type { Promote } from '../options.ts'
import type { Outcome } from '../plugin.ts'
import { keepOutcome } from '../run/results.ts'

const DUTY = 'due-jobs'
/** If its holder dies, jobs are late by this much. */
const DUTY_SECONDS = 3
const BATCH = 100
/** Middleware that does not answer for so long puts its job off. */
const PROMOTE_SECONDS = 30
const FIRST_DELAY = 60
const LONGEST_DELAY = 3600
const STOP_MS = 3000
/** Between questions of a process that is not on duty. */
const ASK_MS = 500
/** Texts whose delay is remembered. */
const REMEMBERED_DELAYS = 10_000
/** Between looks at the limits of the dead set. */
const TRIM_MS = 10_000

export class DueJobs implements BackgroundService {
  readonly #engine: Engine
  readonly #holder: string
  readonly #pollSeconds: number
  readonly #choose: Promote | undefined
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined
  #trimAt = 0
  /** On the monotonic clock: the duty is ours until then; it is not worth asking for before then. */
  #heldUntil = 0
  #askAt = 0
  /** Seconds by which a job was put off that could not be promoted. */
  readonly #delays = new Map<string, number>()
  /** Of those that go nowhere, what their jobs come to. */
  readonly #ends = new WeakMap<Swap, Outcome>()

  constructor(engine: Engine, holder: string, pollSeconds: number, choose?: Promote) {
    this.#engine = engine
    this.#holder = holder
    this.#pollSeconds = pollSeconds
    this.#choose = choose
  }

  start(): void {
    this.#loop = this.#run()
  }

  /** Middleware that is under way has its time; the stop need not wait for all of it. */
  quiet(): void {
    this.#stop.abort()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    if (this.#loop) await within(STOP_MS, this.#loop)
  }

  async #run(): Promise<void> {
    const { store } = this.#engine
    let failures = 0
    while (!this.#stop.signal.aborted) {
      let next: number | null = null
      try {
        if (await this.#onDuty()) {
          next = await this.#moveAll()
          await this.#trimDead()
        }
        failures = 0
      } catch (thrown) {
        if (failures++ === 0) this.#engine.report(thrown, { during: 'moving due jobs' })
      }
      const wait = next === null ? this.#pollSeconds * 1000 : Math.max(next * 1000 - this.#engine.now(), 0)
      const ms = Math.min(wait, this.#pollSeconds * 1000) + (failures > 0 ? 1000 : 0)
      await this.#wait(ms)
    }
    try {
      // Others need not wait until it runs out.
      await store.workers.releaseLock(DUTY, this.#holder)
    } catch (thrown) {
      this.#engine.report(thrown, { during: 'giving up a duty' })
    }
  }

  /** Whether the duty is ours. The store is asked no more than it must be: each time costs a write. */
  async #onDuty(): Promise<boolean> {
    const now = performance.now()
    if (now < this.#heldUntil) return true
    if (now < this.#askAt) return false
    const held = await this.#engine.store.workers.acquireLock(DUTY, this.#holder, DUTY_SECONDS)
    if (held) this.#heldUntil = now + (DUTY_SECONDS * 1000) / 2
    else this.#askAt = now + ASK_MS
    return held
  }

  /** Who is not on duty has nothing to hear of. */
  async #wait(ms: number): Promise<void> {
    const { signal } = this.#stop
    if (signal.aborted) return
    try {
      if (performance.now() < this.#heldUntil) await this.#engine.store.jobSets.waitUntilDue(ms, signal)
      else await sleep(Math.min(ms, ASK_MS), undefined, { signal })
    } catch {
      // Aborted; or the next round meets the same error and tells it.
    }
  }

  /** Seconds since the epoch at which the next job is due; null when there is none. */
  async #moveAll(): Promise<number | null> {
    const nexts: number[] = []
    for (const set of ['retry', 'schedule'] as const) {
      for (;;) {
        // A long run must not outlast the duty.
        if (!(await this.#onDuty())) return null
        const now = this.#engine.now()
        const { entries, next } = await this.#engine.store.jobSets.due(set, now, BATCH)
        const moved = entries.length > 0 && (await this.#move(set, entries))
        const later = next !== null && next * 1000 > now
        if (later) nexts.push(next)
        // Entries that nobody can move must not keep the others from their turn.
        if (later || next === null || !moved || this.#stop.signal.aborted) break
      }
    }
    return nexts.length > 0 ? Math.min(...nexts) : null
  }

  async #trimDead(): Promise<void> {
    const { store, limits, now } = this.#engine
    if (now() < this.#trimAt) return
    this.#trimAt = now() + TRIM_MS
    await store.jobSets.prune('dead', limits.dead, now() / 1000 - limits.deadSeconds)
  }

  /** False when none of them could be moved. */
  async #move(set: SetName, entries: Entry[]): Promise<boolean> {
    const { store, cancellations, now } = this.#engine
    await cancellations.refresh()
    const jobs = entries.map((entry) => ({ entry, payload: readPayload(entry.text) }))
    const cancelled = await cancellations.among(jobs.flatMap(({ payload }) => (payload ? jidsOf(payload) : [])))
    const swaps = await Promise.all(
      jobs.map(({ entry, payload }) =>
        payload && allAmong(payload, cancelled)
          ? this.#dropped(entry, payload, { kind: 'cancelled', begun: false })
          : this.#promoted(set, entry, payload),
      ),
    )
    const answers = await store.jobSets.swap(set, swaps, now())
    await this.#tellEnds(swaps.filter((_, i) => answers[i] === 'ok'))
    const refused = swaps.filter((_, i) => answers[i] === 'error')
    if (refused.length === 0) return answers.includes('ok')
    // They would come first again and again, and keep all behind them from moving.
    await store.jobSets.swap(
      set,
      refused.map((swap) => this.#putOff(set, swap, refusal(swap))),
      now(),
    )
    return true
  }

  #dropped(entry: Entry, payload: Payload, outcome: Outcome): Swap {
    this.#engine.log.info({ jid: payload.jid, class: payload.class }, `dropped: ${outcome.kind}`)
    return this.#gone(entry, payload, outcome)
  }

  #gone(entry: Entry, payload: Payload, outcome: Outcome): Swap {
    const swap = { ...entry, to: null, effects: effectsOf(this.#engine, payload, outcome) }
    this.#ends.set(swap, outcome)
    return swap
  }

  /** Somebody may wait for their results. */
  async #tellEnds(swaps: readonly Swap[]): Promise<void> {
    for (const swap of swaps) {
      const outcome = this.#ends.get(swap)
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
      const wish = this.#choose && (await answered(this.#wishFor(payload, this.#choose)))
      if (wish instanceof Date) {
        return { ...entry, to: { to: set, text: entry.text, score: wish.getTime() / 1000 } }
      }
      const chosen = wish === undefined ? entry.text : editPayload(entry.text, { queue: wish })
      const promoted = wish === 'drop' ? null : await answered(this.#engine.promote(chosen))
      this.#delays.delete(entry.text)
      if (!promoted) return this.#gone(entry, payload, { kind: 'filtered' })
      const effects = effectsOf(this.#engine, payload, { kind: 'promoted' })
      const text = deadline === undefined ? promoted.text : editPayload(promoted.text, { hk_expires: deadline })
      return { ...entry, to: { to: 'queue', queue: promoted.queue, text, end: 'back' }, effects }
    } catch (thrown) {
      return this.#putOff(set, entry, thrown)
    }
  }

  /** What the strategy says. @throws INVALID_OPTION */
  async #wishFor(payload: Payload, choose: Promote): Promise<string | Date | undefined> {
    const wish = await choose(payload)
    if (!(wish instanceof Date)) {
      if (wish !== undefined) checkQueueName(wish)
      return wish
    }
    if (Number.isNaN(wish.getTime())) throw new HighkiqError('INVALID_OPTION', 'promote answered an invalid Date')
    // One that is past would come again at once, for ever.
    return wish.getTime() > this.#engine.now() ? wish : undefined
  }

  /** Longer each time. */
  #putOff(set: SetName, { text, score }: Entry, why: unknown): Swap {
    const delay = Math.min((this.#delays.get(text) ?? FIRST_DELAY / 2) * 2, LONGEST_DELAY)
    if (this.#delays.size >= REMEMBERED_DELAYS) this.#delays.clear()
    this.#delays.set(text, delay)
    this.#engine.report(why, { during: 'promoting a due job', again: `in ${delay} s` })
    return { text, score, to: { to: set, text, score: this.#engine.now() / 1000 + delay } }
  }
}

function refusal({ to }: Swap): HighkiqError {
  const place = to?.to === 'queue' ? `queue ${to.queue}` : 'its place'
  return new HighkiqError(
    'STORE_UNUSABLE',
    `the store can't put a due job into ${place}: does its key hold something else?`,
  )
}

function answered<T>(promise: Promise<T>): Promise<T> {
  return answerOf('client middleware', PROMOTE_SECONDS, promise)
}
