/**
 * Rescues the jobs of processes that died: it puts them back into their queues. Each worker remembers when it saw the leases
 * renewed; only the holder of a leader lock claims those that were not. Each worker also checks the processes of its own machine,
 * which it can see die. Two workers may rescue the same job: only one of them moves it.
 *
 * A lease counts as lost when its owner has not renewed it for a third longer than it holds, measured by the monotonic clock
 * of the worker that observes it: the clock of the store may be set, forward or back.
 */

import { HighkiqError, hasCode } from '../../job/errors.ts'
import { type Payload, readPayload } from '../../job/payload.ts'
import { allAmong, clearCancellations, jidsOf } from '../../job/rows.ts'
import { within } from '../../job/wait.ts'
import { type Lease, type OrphanedJob, RESCUE_CHARACTERS, RESCUE_JOBS, type Rescue } from '../../store/contract.ts'
import { LeaderLock, Periodic } from '../background-service.ts'
import { definitionOf, type Engine, effectsOf } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import { crashOf, keepCrashedOut } from '../run/crash.ts'
import { keepOutcome } from '../run/results.ts'
import { isProcessGone, thisHost } from './host.ts'

/** The number of checks in the time of one lease. */
const CHECKS = 5
/** At most this part of a lease counts from one check to the next: a worker that was frozen saw nothing in that time. */
const MOST_COUNTED = 1 / 4
/**
 * About this many workers of a machine check its processes at the same time; with more workers, each skips some checks.
 */
const CHECKING_WORKERS = 8
/** The time without a renewal after which a lease is claimed, in leases: a renewal may be late on a busy machine. */
const PATIENCE = 4 / 3
/**
 * The time for which the leader lock is held, in leases. It is longer than the time to the next check, which is at most a
 * quarter.
 */
const LOCK_LEASES = 0.3
/** `stop` waits at most this long for death handlers. */
const STOP_MS = 3000
/** Milliseconds between two scans of the whole store. */
const TIDY_MS = 600_000
/** Nobody knows for sure whether the handler had started, so a cancelled job counts as cancelled while it ran. */
const CANCELLED: Outcome = { kind: 'cancelled', begun: true }

/** The newest stamp at one check, and the time of that check in counted milliseconds. */
interface Observation {
  stamp: number
  at: number
}

export class Rescuer extends Periodic {
  readonly #engine: Engine
  readonly #leaseMs: number
  readonly #self: () => string
  readonly #lock: LeaderLock
  readonly #host = thisHost()
  /** The checks, oldest first. An owner that renewed after a check has a greater stamp. */
  #observations: Observation[] = []
  /** The counted milliseconds so far. */
  #counted = 0
  /** The time of the last check on the monotonic clock. */
  #checkedAt = performance.now()
  /** The number of runs that skip the check of the processes of this machine, from now on. */
  #skipsLeft = 0
  #tidyAt = performance.now() + TIDY_MS
  /** The longest lease seen so far. */
  #longestMs: number
  /** The calls of death handlers. */
  #deaths = Promise.resolve()
  /** The jobs whose death handlers have not ended. */
  readonly #dying = new Set<string>()
  /** The next run checks the processes of this machine and rescues all orphaned jobs, whatever `#skipsLeft` is. */
  #mustCheckProcesses = true
  /** The last error that says that the store can't rescue some jobs. */
  #refusal: unknown

  constructor(engine: Engine, leaseSeconds: number, self: () => string) {
    // A worker that can't write does not get the lock, so it claims no lease.
    const lock = new LeaderLock(() => engine.store, 'rescue', { seconds: leaseSeconds * LOCK_LEASES })
    super(engine.report, {
      during: 'rescuing jobs of dead processes',
      everyMs: (leaseSeconds * 1000) / CHECKS,
      random: engine.random,
      first: 'awaited',
      runsWhenQuiet: true,
      lock,
    })
    this.#engine = engine
    this.#lock = lock
    this.#leaseMs = leaseSeconds * 1000
    this.#self = self
    this.#longestMs = this.#leaseMs
  }

  /** Checks the processes of this machine at once, because a caller saw one die. */
  async checkProcessesNow(): Promise<void> {
    this.#mustCheckProcesses = true
    if (!this.isStopping) await this.runNow()
  }

  override async stop(): Promise<void> {
    await super.stop()
    if (await within(STOP_MS, this.#deaths)) return
    const hint = 'a process that exits now does not call the others'
    this.#engine.log.warn(
      { jids: [...this.#dying] },
      `stopped before all onDeath handlers of crashed jobs ended: ${hint}`,
    )
  }

  protected override async run(): Promise<void> {
    const mustCheck = this.#mustCheckProcesses
    this.#mustCheckProcesses = false
    const isSkipped = !mustCheck && this.#skipsLeft > 0
    if (isSkipped) this.#skipsLeft--
    const hasClaimed = !isSkipped && (await this.#claimDeadProcesses())
    const isLeader = await this.#checkLeases()
    if (!mustCheck && !hasClaimed && !isLeader) return
    await this.#rescueOrphaned().catch((thrown) => {
      if (hasCode(thrown, 'STORE_UNUSABLE')) this.#refusal = thrown
      throw thrown
    })
  }

  /**
   * A failed connection may have hidden renewals, so the earlier checks prove nothing. A refusal hides none: leases must be
   * claimed also while the store can't rescue a job.
   */
  protected override failed(thrown: unknown): void {
    if (thrown !== this.#refusal) this.#observations = []
  }

  /** Claims the leases of processes of this machine that are gone, and rescues all orphaned jobs. */
  async claimAndRescue(): Promise<void> {
    await this.#claimDeadProcesses()
    await this.#rescueOrphaned()
  }

  /** Observes all leases. Returns whether this worker is the leader, which also looks for the jobs that a killed rescuer has left. */
  async #checkLeases(): Promise<boolean> {
    const isLeader = await this.#lock.acquire()
    await this.#observeRenewals(isLeader)
    if (isLeader && performance.now() >= this.#tidyAt) await this.#tidy()
    return isLeader
  }

  async #tidy(): Promise<void> {
    const { store } = this.#engine
    this.#tidyAt = performance.now() + TIDY_MS
    for (const owner of await store.workers.tidy()) await store.workers.claim(owner, 'no-lease')
  }

  /** Remembers the newest stamp; the leader also claims the leases that were not renewed in time. */
  async #observeRenewals(isLeader: boolean): Promise<void> {
    const { store } = this.#engine
    const asked = performance.now()
    this.#counted += this.#countedSince(this.#checkedAt, asked)
    this.#checkedAt = asked
    const old = this.#observations.findLast(({ at }) => this.#counted - at >= this.#leaseMs)
    const { stamp, leases } = await store.workers.unrenewed(isLeader ? (old?.stamp ?? null) : null)
    const newest = this.#observations.at(-1)
    // The store has lost data, so its stamps can't be compared with the earlier ones.
    if (newest && stamp < newest.stamp) this.#observations = []
    else for (const lease of leases) await this.#claimIfUnrenewed(lease)
    this.#observations.push({ stamp, at: this.#counted + this.#countedSince(asked, performance.now()) })
    const needed = (one?: Observation) => !one || this.#counted - one.at < this.#longestMs * PATIENCE
    while (!needed(this.#observations[1])) this.#observations.shift()
  }

  /** Returns the part of a time that counts: a worker that was frozen saw nothing. */
  #countedSince(since: number, now: number): number {
    return Math.min(now - since, this.#leaseMs * MOST_COUNTED)
  }

  /** Claims a lease if it has not been renewed for too long since the first check that saw its stamp. */
  async #claimIfUnrenewed({ owner, seconds, stamp, ends }: Lease): Promise<void> {
    this.#longestMs = Math.max(this.#longestMs, seconds * 1000)
    const firstSeen = this.#observations.find((one) => one.stamp >= stamp)
    if (owner === this.#self() || !firstSeen || this.#counted - firstSeen.at < seconds * 1000 * PATIENCE) return
    await this.#engine.store.workers.claim(owner, { ends })
  }

  /** Claims the leases of dead processes of this machine; returns whether there were any. */
  async #claimDeadProcesses(): Promise<boolean> {
    if (!this.#host) return false
    const { store } = this.#engine
    const owners = await store.workers.ownersOn(this.#host.key)
    this.#skipsLeft = Math.floor(owners.length / CHECKING_WORKERS)
    let claimed = false
    for (const { owner, host } of owners) {
      if (owner !== this.#self() && isProcessGone(host, this.#host) && (await store.workers.claim(owner)))
        claimed = true
    }
    return claimed
  }

  async #rescueOrphaned(): Promise<void> {
    const { store, log, now } = this.#engine
    // Jobs that the store refuses must not block the others.
    const refused = new Map<string, OrphanedJob>()
    const keyOf = ({ owner, queue, ticket }: { owner: string; queue: string; ticket: string }) =>
      `${owner} ${queue} ${ticket}`
    for (;;) {
      const refusedCharacters = [...refused.values()].reduce((sum, { text }) => sum + text.length, 0)
      const all = await store.workers.orphaned(RESCUE_JOBS + refused.size, RESCUE_CHARACTERS + refusedCharacters)
      const orphaned = all.filter((one) => !refused.has(keyOf(one)))
      if (orphaned.length === 0) break
      const rescues = await this.#rescuesOf(orphaned)
      const answers = await store.workers.rescue(rescues, now())
      for (const [i, answer] of answers.entries()) {
        const rescue = rescues[i] as Rescue
        // Two workers may do this at the same time: only the one that moved the job reports its end.
        if (answer === 'ok' && rescue.to) await this.#reportCrashedOut(rescue.queue, rescue.to)
        if (answer === 'ok' && !rescue.to) await this.#keepCancelled(orphaned[i] as OrphanedJob)
        if (answer === 'error') refused.set(keyOf(rescue), orphaned[i] as OrphanedJob)
      }
      const rescued = answers.filter((answer) => answer === 'ok').length
      if (rescued > 0) log.warn({ jobs: rescued, owner: orphaned[0]?.owner }, 'rescued jobs of a process that died')
    }
    if (refused.size === 0) return
    throw new HighkiqError('STORE_UNUSABLE', `the store can't rescue ${refused.size} jobs of a process that died`)
  }

  async #rescuesOf(orphaned: readonly OrphanedJob[]): Promise<Rescue[]> {
    const jobs = orphaned.map((one) => ({ one, payload: readPayload(one.text) }))
    const cancelled = new Set(
      await this.#engine.store.cancellations.among(jobs.flatMap(({ payload }) => (payload ? jidsOf(payload) : []))),
    )
    return jobs.map(({ one, payload }) => {
      if (!payload || !allAmong(payload, cancelled)) return this.#rescueOf(one, payload)
      const effects = effectsOf(this.#engine, payload, CANCELLED)
      return { owner: one.owner, queue: one.queue, ticket: one.ticket, to: null, effects }
    })
  }

  /** Calls the death handlers one after the other, without waiting: the jobs of other processes must not wait for them. */
  async #reportCrashedOut(queue: string, to: NonNullable<Rescue['to']>): Promise<void> {
    const dead = await keepCrashedOut(this.#engine, queue, to)
    if (!dead) return
    const { payload, error } = dead
    this.#dying.add(payload.jid)
    this.#deaths = this.#deaths.then(async () => {
      await this.#engine.died(payload, error)
      this.#dying.delete(payload.jid)
    })
  }

  /** Keeps the outcome for callers that wait for the job's result. */
  async #keepCancelled({ text, queue, owner }: OrphanedJob): Promise<void> {
    const payload = readPayload(text)
    if (!payload) return
    const { jid, class: name } = payload
    this.#engine.log.info({ jid, class: name, owner }, 'dropped a cancelled job of a process that died')
    const definition = definitionOf(this.#engine, payload, queue)
    await keepOutcome(this.#engine, payload, definition, CANCELLED)
  }

  #rescueOf({ owner, queue, ticket, text }: OrphanedJob, payload: Payload | undefined): Rescue {
    if (!payload) return { owner, queue, ticket, to: { to: 'dead', text, score: this.#engine.now() / 1000 } }
    const { to, outcome } = crashOf(this.#engine, { queue, text }, payload)
    const effects = effectsOf(this.#engine, payload, outcome)
    if (to.to !== 'dead') return { owner, queue, ticket, to, effects }
    // A job that was cancelled just now must not leave its cancellation to a later job with its jid.
    const cleared = clearCancellations(jidsOf(payload), this.#engine.now())
    return { owner, queue, ticket, to, effects: [...(effects ?? []), ...cleared] }
  }
}
