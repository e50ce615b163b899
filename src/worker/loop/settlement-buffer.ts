/** What the store is to be told with the next call: which jobs began, and how those that ended are settled. */

import { HighkiqError } from '../../job/errors.ts'
import type { SettleAndFetchAnswer, Settlement, Started } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { MAX_REFUSALS, withoutEffects, withoutMessages } from './split-settlement.ts'

interface End {
  settlement: Settlement
  /** Of the jobs that are gone by it, as far as somebody knows them and a mark of them need be taken back. */
  jids: readonly string[]
}

/** What one call tells. */
export interface Drained {
  readonly started: Started[]
  readonly ends: readonly End[]
}

/** Called when the store has recorded the starts of one ticket; gets for each of them whether it is superseded. */
export type OnStart = (superseded: readonly boolean[]) => void

export class SettlementBuffer {
  readonly #engine: Engine
  #ends: End[] = []
  #started = new Map<string, readonly Started[]>()
  /** Attempts that begin only when the store has said that they should. */
  readonly #onStart = new Map<string, OnStart>()
  /** Settlements that the store could not apply, by ticket. */
  readonly #refusals = new Map<string, number>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get isEmpty(): boolean {
    return this.#ends.length + this.#started.size === 0
  }

  /** `jids`: of the jobs that it ends, unless it says where they go. */
  add(settlement: Settlement, jids: readonly string[] = []): void {
    this.#ends.push({ settlement, jids })
  }

  /** `started`: of one ticket; one for each row, where the job is several. */
  addStart(started: readonly Started[], onStart: OnStart): void {
    const [{ ticket }] = started as [Started]
    this.#started.set(ticket, started)
    this.#onStart.set(ticket, onStart)
  }

  /** The start need not be told. False: it has been, or there is none. */
  withdrawStart(ticket: string): boolean {
    const isUntold = this.#started.delete(ticket)
    if (isUntold) this.#onStart.delete(ticket)
    return isUntold
  }

  /** Nobody waits to begin any more. */
  clearStartCallbacks(): void {
    this.#onStart.clear()
  }

  /** What there is to tell, of ends at most so many; whoever draws it either hears an answer or gives it back. */
  drain(ends = Number.POSITIVE_INFINITY): Drained {
    const all = this.#ends
    const telling = { started: [...this.#started.values()].flat(), ends: all.length > ends ? all.splice(0, ends) : all }
    this.#started = new Map()
    if (telling.ends === all) this.#ends = []
    return telling
  }

  /** It was not told. */
  restore({ started, ends }: Drained): void {
    this.#ends = ends.concat(this.#ends)
    for (const [ticket, some] of byTicket(started)) {
      if (!this.#started.has(ticket)) {
        this.#started.set(
          ticket,
          some.map(({ one }) => one),
        )
      }
    }
  }

  /** The answer to what was told. False: an end is told again, for the store could not apply it. */
  applyAnswer({ started, ends }: Drained, answer: SettleAndFetchAnswer): boolean {
    for (const [ticket, some] of byTicket(started)) {
      this.#onStart.get(ticket)?.(some.map(({ at }) => answer.started[at] === 'superseded'))
      this.#onStart.delete(ticket)
    }
    let applied = true
    for (const [i, { settlement, jids }] of ends.entries()) {
      if (answer.settled[i] === 'fenced') this.reportLostOne(settlement.ticket)
      if (answer.settled[i] !== 'error') {
        this.#refusals.delete(settlement.ticket)
        continue
      }
      applied = false
      this.add(this.#again(settlement), jids)
    }
    return applied
  }

  /** The owner's jobs belong to others now. */
  clear(): void {
    this.reportLost(this.drain())
    this.clearStartCallbacks()
  }

  /** Ends of jobs that belonged to others: all of what was told, or those that the store did not apply all the same. */
  reportLost({ ends }: Drained, answer?: SettleAndFetchAnswer): void {
    for (const [i, { settlement }] of ends.entries())
      if (answer?.settled[i] !== 'ok') this.reportLostOne(settlement.ticket)
  }

  reportLostOne(ticket: string): void {
    this.#engine.report(
      new HighkiqError('LEASE_LOST', 'a job ended after it had been given to others: its end was not recorded'),
      { ticket },
    )
  }

  /** The settlement that is to be asked for again. */
  #again(settlement: Settlement): Settlement {
    const refusals = (this.#refusals.get(settlement.ticket) ?? 0) + 1
    this.#refusals.set(settlement.ticket, refusals)
    const isMore = refusals === 2 * MAX_REFUSALS
    if (refusals !== MAX_REFUSALS && !isMore) return settlement
    const goesOn = settlement.move !== null || (settlement.also?.length ?? 0) > 0
    const then = goesOn ? ': what would go on goes to the dead set' : ''
    const lost = isMore ? ', and what is known of its row stays as it is' : ', without messages and result'
    const message = `the store refuses a job's end${then}${lost}`
    this.#engine.report(new HighkiqError('STORE_UNUSABLE', message), { ticket: settlement.ticket })
    return isMore ? withoutEffects(settlement) : withoutMessages(settlement, this.#engine.now())
  }
}

function byTicket(started: readonly Started[]): Map<string, { one: Started; at: number }[]> {
  const groups = new Map<string, { one: Started; at: number }[]>()
  for (const [at, one] of started.entries()) {
    const some = groups.get(one.ticket)
    if (some) some.push({ one, at })
    else groups.set(one.ticket, [{ one, at }])
  }
  return groups
}

/** The jobs that are gone by what was told and applied: they have ended by themselves before anybody stopped them. */
export function endedJobs({ ends }: Drained, { settled }: SettleAndFetchAnswer): string[] {
  return ends.flatMap(({ settlement: { move }, jids }, i) =>
    settled[i] === 'ok' && (!move || move.to === 'dead') ? jids : [],
  )
}
