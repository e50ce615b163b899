/**
 * Finds the jobs of processes that died and puts them back into their queues. One worker at a time does it for all; each
 * also looks after the processes of its own machine, which it can see die.
 *
 * A lease counts as lost when its owner has not renewed it for a third longer than it holds, measured by the monotonic clock
 * of the worker that observes it: the clock of the store may be set, forward or back.
 */

import { randomBytes } from 'node:crypto'
import { HighkiqError } from '../../job/errors.ts'
import { type Payload, readPayload } from '../../job/payload.ts'
import { allAmong, jidsOf } from '../../job/rows.ts'
import type { Lease, OrphanedJob, Rescue } from '../../store/contract.ts'
import type { BackgroundService } from '../background-service.ts'
import { definitionOf, type Engine, effectsOf } from '../engine.ts'
import { crashOf, reportCrashedOut } from '../run/crash.ts'
import { keepOutcome } from '../run/results.ts'
import { isGone, thisHost } from './host.ts'

const PAGE = 100
const DUTY = 'recovery'
/** The number of looks in the time of one lease. */
const LOOKS = 5
/** At most this part of a lease counts from one look to the next: a worker that was frozen saw nothing in that time. */
const MOST_COUNTED = 1 / 4
/**
 * About this many workers of a machine look for its dead processes at the same time; with more workers, each skips some
 * looks.
 */
const LOOKING = 8
/** The time without a renewal after which a lease is claimed, in leases: a renewal may be late on a busy machine. */
const PATIENCE = 4 / 3
/**
 * The time for which the duty is held, in leases. It is longer than the time to the next look, which is at most a
 * quarter.
 */
const DUTY_LEASES = 0.3
/** Milliseconds between two looks through the whole store. */
const TIDY_MS = 600_000

/** The newest stamp at one look, and the time of that look in counted milliseconds. */
interface Look {
  stamp: number
  at: number
}

export class Recovery implements BackgroundService {
  readonly #engine: Engine
  readonly #leaseSeconds: number
  readonly #self: () => string
  readonly #holder = randomBytes(8).toString('hex')
  readonly #host = thisHost()
  /** The looks, oldest first. An owner that renewed after a look has a greater stamp. */
  #looks: Look[] = []
  /** The counted milliseconds so far. */
  #counted = 0
  /** The time of the last look on the monotonic clock. */
  #lookedAt = performance.now()
  /** The number of looks that skip the processes of this machine, and how many of them are over. */
  #skips = 0
  #skipped = 0
  #tidyAt = performance.now() + TIDY_MS
  /** The longest lease seen so far. */
  #longestMs: number
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(engine: Engine, leaseSeconds: number, self: () => string) {
    this.#engine = engine
    this.#leaseSeconds = leaseSeconds
    this.#self = self
    this.#longestMs = this.#leaseMs
  }

  async start(): Promise<void> {
    await this.#report(async () => {
      await this.sweep()
      await this.#look()
    })
    this.#schedule()
  }

  quiet(): void {}

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#sweeping
    const { store } = this.#engine
    await store.workers.releaseLock(DUTY, this.#holder).catch(() => {})
  }

  /** Looks at once for processes of this machine that are gone, because somebody saw one die. */
  lookForDead(): Promise<void> {
    if (!this.#stopped) this.#sweeping = this.#sweeping.then(() => this.#report(() => this.sweep()))
    return this.#sweeping
  }

  /** Claims the leases of processes of this machine that are gone, and puts all orphaned jobs back. */
  async sweep(): Promise<void> {
    await this.#claimGone()
    await this.#restoreAll()
  }

  get #leaseMs(): number {
    return this.#leaseSeconds * 1000
  }

  async #look(): Promise<void> {
    const { store } = this.#engine
    const claimed = this.#skipped++ < this.#skips ? false : await this.#claimGone()
    // A worker that can't write does not get the duty, so it claims no lease.
    const isOnDuty = await store.workers.acquireLock(DUTY, this.#holder, this.#leaseSeconds * DUTY_LEASES)
    await this.#observe(isOnDuty)
    if (isOnDuty && performance.now() >= this.#tidyAt) await this.#tidy()
    if (isOnDuty || claimed) await this.#restoreAll()
  }

  async #tidy(): Promise<void> {
    const { store } = this.#engine
    this.#tidyAt = performance.now() + TIDY_MS
    for (const owner of await store.workers.tidy()) await store.workers.claim(owner, 0)
  }

  /** Remembers the newest stamp; with the duty, claims the leases that were not renewed in time. */
  async #observe(isOnDuty: boolean): Promise<void> {
    const { store } = this.#engine
    const asked = performance.now()
    this.#counted += this.#countedSince(this.#lookedAt, asked)
    this.#lookedAt = asked
    const old = this.#looks.findLast(({ at }) => this.#counted - at >= this.#leaseMs)
    const { stamp, leases } = await store.workers.unrenewed(isOnDuty ? (old?.stamp ?? null) : null)
    const newest = this.#looks.at(-1)
    // The store has lost data, so its stamps cannot be compared with the earlier ones.
    if (newest && stamp < newest.stamp) this.#looks = []
    else for (const lease of leases) await this.#judge(lease)
    this.#looks.push({ stamp, at: this.#counted + this.#countedSince(asked, performance.now()) })
    const needed = (look?: Look) => !look || this.#counted - look.at < this.#longestMs * PATIENCE
    while (!needed(this.#looks[1])) this.#looks.shift()
  }

  /** The part of a time that counts: a worker that was frozen in it saw nothing. */
  #countedSince(since: number, now: number): number {
    return Math.min(now - since, this.#leaseMs * MOST_COUNTED)
  }

  async #judge({ owner, seconds, renewed, ends }: Lease): Promise<void> {
    this.#longestMs = Math.max(this.#longestMs, seconds * 1000)
    const since = this.#looks.find(({ stamp }) => stamp >= renewed)
    if (owner === this.#self() || !since || this.#counted - since.at < seconds * 1000 * PATIENCE) return
    await this.#engine.store.workers.claim(owner, ends)
  }

  /** Claims the leases of dead processes of this machine; returns whether there were any. */
  async #claimGone(): Promise<boolean> {
    if (!this.#host) return false
    const { store } = this.#engine
    const owners = await store.workers.ownersOn(this.#host.key)
    this.#skipped = 0
    this.#skips = Math.floor(owners.length / LOOKING)
    let claimed = false
    for (const { owner, host } of owners) {
      if (owner !== this.#self() && isGone(host, this.#host) && (await store.workers.claim(owner, null))) claimed = true
    }
    return claimed
  }

  async #restoreAll(): Promise<void> {
    const { store, log, now } = this.#engine
    // Those that the store refuses must not stand before all others.
    const refused = new Set<string>()
    const nameOf = ({ owner, queue, ticket }: { owner: string; queue: string; ticket: string }) =>
      `${owner} ${queue} ${ticket}`
    for (;;) {
      const stranded = (await store.workers.orphaned(PAGE + refused.size)).filter((one) => !refused.has(nameOf(one)))
      if (stranded.length === 0) break
      const restores = await this.#restores(stranded)
      const answers = await store.workers.rescue(restores, now())
      for (const [i, answer] of answers.entries()) {
        const restore = restores[i] as Rescue
        // Two may have swept at once: only who moved the job tells of its end.
        if (answer === 'ok' && restore.to) await reportCrashedOut(this.#engine, restore.queue, restore.to)
        if (answer === 'ok' && !restore.to) await this.#tellCancelled(stranded[i] as OrphanedJob)
        if (answer === 'error') refused.add(nameOf(restore))
      }
      const restored = answers.filter((answer) => answer === 'ok').length
      if (restored > 0) log.warn({ jobs: restored, owner: stranded[0]?.owner }, 'took back jobs of a process that died')
    }
    if (refused.size === 0) return
    throw new HighkiqError('STORE_UNUSABLE', `the store can't take back ${refused.size} jobs of a process that died`)
  }

  async #restores(stranded: readonly OrphanedJob[]): Promise<Rescue[]> {
    const jobs = stranded.map((one) => ({ one, payload: readPayload(one.text) }))
    const cancelled = new Set(
      await this.#engine.store.cancellations.among(jobs.flatMap(({ payload }) => (payload ? jidsOf(payload) : []))),
    )
    return jobs.map(({ one, payload }) => {
      if (!payload || !allAmong(payload, cancelled)) return this.#restored(one, payload)
      const effects = effectsOf(this.#engine, payload, { kind: 'cancelled', begun: true })
      return { owner: one.owner, queue: one.queue, ticket: one.ticket, to: null, effects }
    })
  }

  /** Somebody may wait for its result. */
  async #tellCancelled({ text, queue }: OrphanedJob): Promise<void> {
    const payload = readPayload(text)
    if (!payload) return
    const definition = definitionOf(this.#engine, payload, queue)
    await keepOutcome(this.#engine, payload, definition, { kind: 'cancelled', begun: true })
  }

  #restored({ owner, queue, ticket, text }: OrphanedJob, payload: Payload | undefined): Rescue {
    if (!payload) return { owner, queue, ticket, to: { to: 'dead', text, score: this.#engine.now() / 1000 } }
    const { to, outcome } = crashOf(this.#engine, { queue, text }, payload)
    return { owner, queue, ticket, to, effects: effectsOf(this.#engine, payload, outcome) }
  }

  #schedule(): void {
    if (this.#stopped) return
    const ms = (this.#leaseMs / LOOKS) * (0.75 + this.#engine.random() / 2)
    this.#timer = setTimeout(() => {
      this.#sweeping = this.#report(() => this.#look()).then(() => this.#schedule())
    }, ms)
  }

  async #report(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      // A failed connection may have hidden renewals, so the earlier looks prove nothing any more.
      this.#looks = []
      this.#engine.report(thrown, { during: 'looking for lost jobs' })
    }
  }
}
