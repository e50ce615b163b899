/**
 * Finds the jobs of processes that died and gives them back to their queues. Every worker does it, a few times in each
 * lease; whoever is first does the work.
 */

import { HighkiqError } from '../job/errors.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import { allAmong, jidsOf } from '../job/rows.ts'
import type { Restore, Stranded } from '../store/contract.ts'
import type { Service } from './aspect.ts'
import { definitionOf, type Engine, effectsOf } from './engine.ts'
import { isGone, thisHost } from './host.ts'
import { keepOutcome } from './results.ts'
import { stallOf, tellStalledOut } from './stall.ts'

const PAGE = 100

export class Recovery implements Service {
  readonly #engine: Engine
  readonly #leaseSeconds: number
  readonly #self: () => string
  readonly #host = thisHost()
  /** Ends of leases that were past at the last look: one look is not enough to take a lease away. */
  #suspects = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(engine: Engine, leaseSeconds: number, self: () => string) {
    this.#engine = engine
    this.#leaseSeconds = leaseSeconds
    this.#self = self
  }

  async start(): Promise<void> {
    await this.#sweepAndReport()
    this.#schedule()
  }

  quiet(): void {}

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#sweeping
  }

  /** Looks at once for processes of this machine that are gone, because somebody saw one die. */
  lookForDead(): Promise<void> {
    if (!this.#stopped) this.#sweeping = this.#sweeping.then(() => this.#sweepAndReport(false))
    return this.#sweeping
  }

  /** Claims what is lost and restores what is claimed. `suspect`: also leases whose end was past at the last look. */
  async sweep(suspect = true): Promise<void> {
    const { store } = this.#engine
    // Who can't write himself judges nobody: in an outage everybody's lease ends, and nobody must lose by it.
    await store.renew(this.#self(), this.#leaseSeconds)
    const suspects = new Map<string, number>()
    let claimed = false
    for (const lease of await store.leases()) {
      if (lease.claimed) claimed = true
      if (lease.claimed || lease.owner === this.#self()) continue
      if (isGone(lease.host, this.#host)) {
        if (await store.claim(lease.owner, null)) claimed = true
      } else if (suspect && lease.ended) {
        if (this.#suspects.get(lease.owner) !== lease.ends) suspects.set(lease.owner, lease.ends)
        else if (await store.claim(lease.owner, lease.ends)) claimed = true
      }
    }
    if (suspect) this.#suspects = suspects
    if (claimed) await this.#restoreAll()
  }

  async #restoreAll(): Promise<void> {
    const { store, log, now } = this.#engine
    // Those that the store refuses must not stand before all others.
    const refused = new Set<string>()
    const nameOf = ({ owner, queue, ticket }: { owner: string; queue: string; ticket: string }) =>
      `${owner} ${queue} ${ticket}`
    for (;;) {
      const stranded = (await store.stranded(PAGE + refused.size)).filter((one) => !refused.has(nameOf(one)))
      if (stranded.length === 0) break
      const restores = await this.#restores(stranded)
      const answers = await store.restore(restores, now())
      for (const [i, answer] of answers.entries()) {
        const restore = restores[i] as Restore
        // Two may have swept at once: only who moved the job tells of its end.
        if (answer === 'ok' && restore.to) await tellStalledOut(this.#engine, restore.queue, restore.to)
        if (answer === 'ok' && !restore.to) await this.#tellCancelled(stranded[i] as Stranded)
        if (answer === 'error') refused.add(nameOf(restore))
      }
      const restored = answers.filter((answer) => answer === 'ok').length
      if (restored > 0) log.warn({ jobs: restored, owner: stranded[0]?.owner }, 'took back jobs of a process that died')
    }
    if (refused.size === 0) return
    throw new HighkiqError('STORE_UNUSABLE', `the store can't take back ${refused.size} jobs of a process that died`)
  }

  async #restores(stranded: readonly Stranded[]): Promise<Restore[]> {
    const jobs = stranded.map((one) => ({ one, payload: readPayload(one.text) }))
    const cancelled = new Set(
      await this.#engine.store.cancelledAmong(jobs.flatMap(({ payload }) => (payload ? jidsOf(payload) : []))),
    )
    return jobs.map(({ one, payload }) => {
      if (!payload || !allAmong(payload, cancelled)) return this.#restored(one, payload)
      const effects = effectsOf(this.#engine, payload, { kind: 'cancelled', begun: true })
      return { owner: one.owner, queue: one.queue, ticket: one.ticket, to: null, effects }
    })
  }

  /** Somebody may wait for its result. */
  async #tellCancelled({ text, queue }: Stranded): Promise<void> {
    const payload = readPayload(text)
    if (!payload) return
    const definition = definitionOf(this.#engine, payload, queue)
    await keepOutcome(this.#engine, payload, definition, { kind: 'cancelled', begun: true })
  }

  #restored({ owner, queue, ticket, text }: Stranded, payload: Payload | undefined): Restore {
    if (!payload) return { owner, queue, ticket, to: { to: 'dead', text, score: this.#engine.now() / 1000 } }
    const { to, outcome } = stallOf(this.#engine, { queue, text }, payload)
    return { owner, queue, ticket, to, effects: effectsOf(this.#engine, payload, outcome) }
  }

  #schedule(): void {
    if (this.#stopped) return
    const ms = (this.#leaseSeconds / 3) * 1000 * (0.75 + this.#engine.random() / 2)
    this.#timer = setTimeout(() => {
      this.#sweeping = this.#sweepAndReport().then(() => this.#schedule())
    }, ms)
  }

  async #sweepAndReport(suspect = true): Promise<void> {
    try {
      await this.sweep(suspect)
    } catch (thrown) {
      // A connection that failed may have hidden a renewal: what was suspected is looked at anew.
      this.#suspects.clear()
      this.#engine.report(thrown, { during: 'looking for lost jobs' })
    }
  }
}
