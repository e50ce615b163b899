/** Collects what the next call sends to the store: the attempts that started, and the settlements of those that ended. */

import { HighkiqError } from '../../job/errors.ts'
import { given } from '../../job/options.ts'
import { clearCancellations, jidsOf } from '../../job/rows.ts'
import type { RecordEffect, SettleAndFetchAnswer, Settlement, Started } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'
import { MAX_REFUSALS, reducedToDead, withoutEffects } from './refused-settlement.ts'

interface Ended {
  settlement: Settlement
  /** The jobs that this settlement ends, if they are not all jobs of the attempt. */
  jids: readonly string[] | undefined
  /** The attempt that ended; it tells which events to record. */
  attempt: Attempt | undefined
}

/** The content of one call. */
export interface Drained {
  /** The starts by ticket. */
  readonly started: ReadonlyMap<string, readonly Started[]>
  readonly ended: readonly Ended[]
  /** Events of attempts that go on. */
  readonly records: readonly RecordEffect[]
}

/** Called when the store has recorded the starts of one ticket, with whether each of them is superseded. */
export type OnStart = (isSuperseded: readonly boolean[]) => void

export class SettlementBuffer {
  readonly #engine: Engine
  #ended: Ended[] = []
  #started = new Map<string, readonly Started[]>()
  #records: RecordEffect[] = []
  /** Whether the events must be sent even if nothing else is. */
  #areRecordsDue = false
  /** Starts and settlements whose shard can't be reached; `resume` adds them to the next call. */
  #postponed = { started: new Map<string, readonly Started[]>(), ended: [] as Ended[] }
  readonly #onStart = new Map<string, OnStart>()
  /** How often the store refused a settlement, by ticket. */
  readonly #refusals = new Map<string, number>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get isEmpty(): boolean {
    return this.#ended.length + this.#started.size === 0 && !this.#areRecordsDue
  }

  get hasPostponed(): boolean {
    return this.#postponed.ended.length + this.#postponed.started.size > 0
  }

  /** Adds the postponed starts and settlements to the next call, before all that were added since. */
  resume(): void {
    const { started, ended } = this.#postponed
    this.#postponed = { started: new Map(), ended: [] }
    this.restore({ started, ended, records: [] })
  }

  /**
   * Adds a settlement. `jids` are the jobs that it ends, unless its `move` says that they run again. Default: those of the
   * attempt.
   */
  add(settlement: Settlement, jids?: readonly string[], attempt?: Attempt): void {
    this.#ended.push({ settlement, jids, attempt })
  }

  /** Adds an event of an attempt that goes on. It goes with the next call, or after `recordsDue`. */
  addRecord(record: RecordEffect): void {
    this.#records.push(record)
  }

  recordsDue(): void {
    this.#areRecordsDue = this.#records.length > 0
  }

  /** Adds the start of one ticket: one entry, or one for each row of a job with several rows. */
  addStart(started: readonly Started[], onStart: OnStart): void {
    const [{ ticket }] = started as [Started]
    this.#started.set(ticket, started)
    this.#onStart.set(ticket, onStart)
  }

  /** Removes a start that was not sent yet. Returns false when there is none. */
  withdrawStart(ticket: string): boolean {
    const isUnsent = this.#started.delete(ticket) || this.#postponed.started.delete(ticket)
    if (isUnsent) this.#onStart.delete(ticket)
    return isUnsent
  }

  /** Starts no more attempts when their starts are recorded. */
  clearStartCallbacks(): void {
    this.#onStart.clear()
  }

  /**
   * Removes and returns all starts and at most `max` settlements. There are more only when jobs go to the front of their queues
   * together: their order holds only within one call. The caller then calls `applyAnswer` or `restore`.
   */
  drain(max = Number.POSITIVE_INFINITY): Drained {
    const all = this.#ended
    while (max < all.length && goesToFront(all[max] as Ended)) max++
    const ended = all.length > max ? all.splice(0, max) : all
    const drained = { started: this.#started, ended, records: this.#records }
    this.#started = new Map()
    if (this.#records.length > 0) this.#records = []
    this.#areRecordsDue = false
    if (drained.ended === all) this.#ended = []
    return drained
  }

  /** Puts back what could not be sent, before everything that was added since. */
  restore({ started, ended, records }: Drained): void {
    if (records.length > 0) this.#records = [...records, ...this.#records]
    this.recordsDue()
    this.#ended = ended.concat(this.#ended)
    for (const [ticket, some] of started) if (!this.#started.has(ticket)) this.#started.set(ticket, some)
  }

  /**
   * Applies the store's answer to what was sent. Returns false when a settlement has to be sent again at once.
   * Postpones starts and settlements with the answer `unreachable`.
   */
  applyAnswer({ started, ended }: Drained, answer: SettleAndFetchAnswer): boolean {
    let at = 0
    for (const [ticket, some] of started) {
      const answers = answer.started.slice(at, at + some.length)
      at += some.length
      if (answers.includes('unreachable')) {
        this.#postponed.started.set(ticket, some)
        continue
      }
      this.#onStart.get(ticket)?.(answers.map((one) => one === 'superseded'))
      this.#onStart.delete(ticket)
    }
    let applied = true
    for (let i = 0; i < ended.length; i++) {
      const { settlement, jids, attempt } = ended[i] as Ended
      if (answer.settled[i] === 'fenced') this.reportLostOne(settlement.ticket, jidOf(ended[i] as Ended))
      if (answer.settled[i] === 'unreachable') {
        this.#postponed.ended.push(ended[i] as Ended)
      } else if (answer.settled[i] === 'unknown') {
        applied = false
        this.add(settlement, jids, attempt)
      } else if (answer.settled[i] === 'error') {
        applied = false
        this.#addRefused(settlement, jids, attempt)
      } else if (this.#refusals.size > 0) {
        this.#refusals.delete(settlement.ticket)
      }
    }
    return applied
  }

  /** Drops everything: the owner's jobs belong to other workers now. */
  clear(): void {
    this.resume()
    this.reportLost(this.drain())
    this.clearStartCallbacks()
  }

  /** Reports settlements as lost: all of them, or those that `answer` does not confirm. */
  reportLost({ ended }: Drained, answer?: SettleAndFetchAnswer): void {
    for (const [i, one] of ended.entries()) {
      if (answer?.settled[i] !== 'ok') this.reportLostOne(one.settlement.ticket, jidOf(one))
    }
  }

  reportLostOne(ticket: string, jid: string | undefined): void {
    this.#engine.report(
      new HighkiqError('LEASE_LOST', 'a job ended after it was rescued or removed: its end was not recorded'),
      given({ jid, ticket }),
    )
  }

  /** Adds the settlement to send after the store has refused this one: after some refusals, one with less in it. */
  #addRefused(settlement: Settlement, jids: Ended['jids'], attempt: Attempt | undefined): void {
    const refusals = (this.#refusals.get(settlement.ticket) ?? 0) + 1
    this.#refusals.set(settlement.ticket, refusals)
    const isLast = refusals === 2 * MAX_REFUSALS
    if (refusals !== MAX_REFUSALS && !isLast) {
      this.add(settlement, jids, attempt)
      return
    }
    const { move: to, also = [] } = settlement
    const runsAgain = !isOver(to) || also.length > 0
    const move = runsAgain ? ': the job goes to the dead set instead of running again' : ''
    const without = isLast ? ', and the state of its row stays as it is' : ', without messages and result'
    const message = `the store refuses to settle a job${move}${without}`
    const jid = jidOf({ jids, attempt })
    this.#engine.report(new HighkiqError('STORE_UNUSABLE', message), given({ jid, ticket: settlement.ticket }))
    const reduced = isLast ? withoutEffects(settlement) : reducedToDead(settlement, this.#engine.now())
    this.add(reduced, endedBy({ jids, attempt }))
  }
}

/** Returns the job of a settlement, of several rows the first; undefined for a text that is not a job. */
function jidOf({ jids, attempt }: Pick<Ended, 'jids' | 'attempt'>): string | undefined {
  return attempt?.payload.jid ?? jids?.[0]
}

/** Returns the jobs that a settlement ends; their cancellations, if any, have no use any more. */
function endedBy({ jids, attempt }: Pick<Ended, 'jids' | 'attempt'>): readonly string[] {
  return jids ?? (attempt ? jidsOf(attempt.payload) : [])
}

/** Returns the jobs that ended by settlements which the store has applied. */
export function endedJobs({ ended }: Drained, { settled }: SettleAndFetchAnswer): string[] {
  return ended.flatMap((one, i) => (settled[i] === 'ok' && isOver(one.settlement.move) ? endedBy(one) : []))
}

/**
 * Returns a settlement that also removes the cancellations of the jobs that it ends: left behind, they would drop later jobs
 * with these jids.
 */
export function clearingCancellations(
  ended: Ended,
  settlement: Settlement,
  cancellations: Engine['cancellations'],
  at: number,
): Settlement {
  if (cancellations.isEmpty || !isOver(settlement.move)) return settlement
  const cancelled = endedBy(ended).filter((jid) => cancellations.has(jid))
  if (cancelled.length === 0) return settlement
  // They follow the effects that drop a cancelled job.
  return { ...settlement, effects: [...(settlement.effects ?? []), ...clearCancellations(cancelled, at)] }
}

function goesToFront({ settlement: { move } }: Ended): boolean {
  return move?.to === 'queue' && move.end === 'front'
}

function isOver(to: Settlement['move']): boolean {
  return to === null || to.to === 'dead' || to.to === 'finished'
}
