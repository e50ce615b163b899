/** Sends alerts: for each set of targets one worker at a time examines the store, and sends what has begun and what is over. */

import { REUSED_MS, type StoreReads, storeReads } from '../inspect/store-reads.ts'
import type { Logger } from '../job/logger.ts'
import { isFromLostShard } from '../job/without-unreachable.ts'
import type { Store } from '../store/contract.ts'
import { LeaderLock, type Report } from '../worker/background-service.ts'
import { Maintenance } from '../worker/maintenance.ts'
import type { Alert } from './alert.ts'
import { deliver } from './delivery.ts'
import { alertFinder } from './finder.ts'
import { messageOf } from './message.ts'
import type { AlertPlan, Target } from './options.ts'
import { isQuiet } from './quiet-hours.ts'
import {
  type AlertState,
  beginTry,
  type Changes,
  changesFor,
  endTry,
  isDue,
  pruned,
  reachingThresholds,
  readState,
  Watch,
  writeState,
} from './state.ts'
import { inheritedState, listState, STATE_SECONDS, stateKey, WRITES } from './stored-states.ts'

const DAY_MS = 86_400_000
const LOCK_SECONDS = 15

export interface AlertApp {
  store: Store
  now(): number
  report: Report
  log: Pick<Logger, 'info'>
}

export interface SenderOptions {
  plan: AlertPlan
  /** The address of the dashboard, for links. */
  publicUrl?: string | undefined
  send?: typeof deliver
  lock?: LeaderLock
}

export class AlertSender extends Maintenance {
  readonly #app: AlertApp
  readonly #plan: AlertPlan
  readonly #key: string
  readonly #publicUrl: string | undefined
  readonly #send: typeof deliver
  readonly #ending = new AbortController()
  /** Shared by all that one round examines. */
  readonly #reads: StoreReads
  #finder: ReturnType<typeof alertFinder>
  #watch: Watch
  /** The state as it is stored, as far as this process knows; undefined before it is read. */
  #stored: string | undefined
  /** The state while the shard that stores it can't be reached. */
  #unwritten: AlertState | undefined
  #renewAt = 0
  #writing: Promise<unknown> = Promise.resolve()

  constructor(app: AlertApp, { plan, publicUrl, send = deliver, lock = lockOf(app, plan) }: SenderOptions) {
    super(app, { during: 'sending alerts', everyMs: plan.everyMs, lock, runsWhenQuiet: true })
    this.#app = app
    this.#plan = plan
    this.#key = stateKey(plan)
    this.#publicUrl = publicUrl
    this.#send = send
    this.#reads = storeReads(app, REUSED_MS)
    this.#finder = this.#newFinder()
    this.#watch = new Watch(plan.afterMs)
  }

  public override async run(): Promise<void> {
    if (!(await this.isLeader())) return this.#forget()
    const plan = this.#plan
    this.#reads.forget()
    await this.#finder.sample()
    const { alerts } = await this.#finder.find()
    const now = this.#app.now()
    const found = reachingThresholds(alerts, plan.thresholds)
    const before = pruned(await this.#read())
    const { isKnown } = this.#finder
    const problems = this.#watch.problemsAfter(before.problems, found, { now, isKnown })
    let state: AlertState = { ...before, problems }
    const due = plan.targets.flatMap((target) => {
      const changes = changesFor(state, target)
      const mayBegin = isDue(state, target, now) && !isQuiet(target.quietHours, plan.timeZone, now)
      return changes && mayBegin ? [{ target, changes }] : []
    })
    for (const { target, changes } of due) state = beginTry(state, target, changes, now)
    // Only the process that has written that it tries may send. After a crash the next try waits, like after any other.
    if (!(await this.#write(state)) || this.isStopping) return
    await Promise.all(due.map(({ target, changes }) => this.#try(target, changes, { state, found })))
  }

  override stop(): Promise<void> {
    this.#ending.abort()
    return super.stop()
  }

  async #try(
    target: Target,
    changes: Changes,
    { state, found }: { state: AlertState; found: ReadonlyMap<string, Alert> },
  ): Promise<void> {
    const { now, log, report } = this.#app
    const message = messageOf(
      { ...this.#plan, publicUrl: this.#publicUrl },
      { problems: state.problems, changes, found, now: now() },
    )
    const tries = state.targets[target.id]?.tries ?? 1
    try {
      await this.#send(target, message, this.#plan.language, this.#ending.signal)
    } catch (thrown) {
      // The first failure in a row is reported. One that comes from the end of this process is none.
      if (tries === 1 && !this.#ending.signal.aborted) report(thrown, { during: 'sending alerts', target: target.name })
      return
    }
    if (tries > 1)
      log.info({ target: target.name, tries }, `alerts: ${target.name} has its message, after ${tries} tries`)
    const written = this.#writing.then(() => this.#change((latest) => endTry(latest, target, changes)))
    this.#writing = written.catch(() => {})
    await written
  }

  /** Drops what this process has seen, because it may be old when this process is the leader again. */
  #forget(): void {
    if (this.#stored === undefined) return
    this.#stored = undefined
    this.#unwritten = undefined
    this.#finder = this.#newFinder()
    this.#watch = new Watch(this.#plan.afterMs)
  }

  /** Returns a finder that lists all alerts: one that only another limit leaves out would count as over. */
  #newFinder() {
    return alertFinder(this.#app, { most: Number.POSITIVE_INFINITY, reads: this.#reads })
  }

  async #read(): Promise<AlertState> {
    if (this.#unwritten) return this.#unwritten
    this.#stored ??= (await this.#app.store.results.remember(this.#key, '', 0)) ?? ''
    return this.#stored === '' ? inheritedState(this.#app.store, this.#plan) : readState(this.#stored)
  }

  /** Changes the stored state, also when others do so at the same time. */
  async #change(change: (state: AlertState) => AlertState): Promise<void> {
    for (let n = 0; n < WRITES; n++) if (await this.#write(change(await this.#read()))) return
  }

  /**
   * Writes the state unless another process has changed it since the last read. Then it reads that state: false. While the
   * shard of the state can't be reached, this process keeps it in memory, so that messages about that shard are sent.
   */
  async #write(state: AlertState): Promise<boolean> {
    try {
      const isWritten = await this.#store(state)
      this.#unwritten = undefined
      return isWritten
    } catch (thrown) {
      if (!isFromLostShard(thrown, this.#app.store)) throw thrown
      this.#unwritten = state
      return true
    }
  }

  async #store(state: AlertState): Promise<boolean> {
    const text = writeState(state)
    const isSame = text === this.#stored
    if (isSame && performance.now() < this.#renewAt) return true
    const { store, now } = this.#app
    if (performance.now() >= this.#renewAt) await listState(store, this.#key, now())
    const there = await store.results.remember(this.#key, text, STATE_SECONDS, this.#stored ?? '')
    this.#stored = there ?? text
    if (there === null) this.#renewAt = performance.now() + DAY_MS
    return there === null
  }
}

/** Workers of other apps on this store may have other targets or none, so the lock is not that of all maintenance. */
function lockOf(app: AlertApp, plan: AlertPlan): LeaderLock {
  const seconds = Math.max(LOCK_SECONDS, (plan.everyMs / 1000) * 2.5)
  return new LeaderLock(() => app.store, stateKey(plan), { seconds, renewMs: seconds * 500, retryMs: seconds * 500 })
}
