/** The slots of a capsule: what a job that was taken goes through until it is known how it is to be settled. */

import { isLate } from '../../job/expiry.ts'
import type { Payload } from '../../job/payload.ts'
import { allAmong, jidsOf, someRows } from '../../job/rows.ts'
import type { Effect, FetchedJob, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { EventLoopRecord } from '../executor.ts'
import { type Attempt, openAttempt } from '../run/attempt.ts'
import { keepEnd } from '../run/results.ts'
import { endedRows, rowsOf, splitIntoRows, withoutCancelledRows } from '../run/row-group.ts'
import { bury, dropped, putBack, runAttempt } from '../run/runner.ts'
import { RequeueBuffer, type Requeued } from './requeue-buffer.ts'
import type { SettlementBuffer } from './settlement-buffer.ts'

export interface SlotsOptions {
  eventLoop: EventLoopRecord
  /** Of the next job that its worker begins. */
  nextSlot: () => number
  buffer: SettlementBuffer
  /** There is something to tell, or a slot is free. */
  wake: () => void
}

export class Slots {
  readonly #engine: Engine
  readonly #options: SlotsOptions
  readonly #report: SettlementBuffer
  readonly #running = new Map<string, Attempt>()
  readonly #returns: RequeueBuffer
  #whenEmpty: (() => void)[] = []
  /** `quiet`: no more jobs are taken. `stopping`: what ends from now on is told at once. */
  state: 'open' | 'quiet' | 'stopping' = 'open'

  constructor(engine: Engine, options: SlotsOptions) {
    const { buffer: report, wake } = options
    this.#engine = engine
    this.#options = options
    this.#report = report
    this.#returns = new RequeueBuffer((settlement) => {
      report.add(settlement)
      wake()
    })
  }

  get busy(): number {
    return this.#running.size
  }

  get attempts(): Attempt[] {
    return [...this.#running.values()]
  }

  /** Resolves when nothing runs. */
  async empty(): Promise<void> {
    if (this.#running.size === 0) return
    await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Tells every handler that runs to end. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const { ctx } of this.#running.values()) ctx.abort(code, message)
  }

  /** One that can't even be begun must not hold up the others that came with it. */
  begin(fetched: FetchedJob): void {
    try {
      this.#begin(fetched)
    } catch (thrown) {
      this.#killUnrunnable(fetched, thrown)
    }
  }

  /** It is not begun. */
  requeue(fetched: FetchedJob): void {
    const attempt = openAttempt(this.#engine, fetched)
    this.#report.add(attempt ? putBack(this.#engine, attempt, { kind: 'untouched' }) : bury(this.#engine, fetched))
  }

  /** Lets go of all that still runs or waits to go back; answers what puts it back. */
  drain(): Requeued[] {
    const back = this.#returns.drain()
    for (const attempt of this.#running.values()) {
      const hasBegun = attempt.began > 0
      if (!hasBegun) this.#report.withdrawStart(attempt.fetched.ticket)
      const kind = hasBegun ? 'interrupted' : 'untouched'
      back.push({ attempt, settlement: putBack(this.#engine, attempt, { kind }) })
    }
    this.#report.clearStartCallbacks()
    this.#running.clear()
    return back
  }

  /** What it holds belongs to others now. */
  onLeaseLost(): void {
    this.#running.clear()
    this.#returns.drain()
    this.#ended()
  }

  #begin(fetched: FetchedJob): void {
    const attempt = openAttempt(this.#engine, fetched, this.#options.nextSlot())
    if (!attempt) {
      this.#engine.report(new SyntaxError('a job that is not JSON went to the dead set'), {
        context: 'Invalid JSON for job',
        jobstr: fetched.text,
      })
      this.#report.add(bury(this.#engine, fetched))
      return
    }
    this.#running.set(fetched.ticket, attempt)
    if (this.#isHeard(attempt.payload)) void this.#checkCancelled(attempt)
    else this.#admit(attempt)
  }

  #isHeard(payload: Payload): boolean {
    const { cancellations } = this.#engine
    return !cancellations.isEmpty && jidsOf(payload).some((jid) => cancellations.has(jid))
  }

  /** It was cancelled, unless its mark has gone since: the store knows. */
  async #checkCancelled(attempt: Attempt): Promise<void> {
    const { fetched, payload } = attempt
    const { ticket } = fetched
    const jids = jidsOf(payload)
    const { cancellations, report } = this.#engine
    const found = await cancellations
      .among(jids)
      .catch((thrown) => report(thrown, { during: 'looking for cancelled jobs' }))
    // Put back meanwhile, or lost with the lease.
    if (this.#running.get(ticket) !== attempt) return
    try {
      if (!found) this.#end(attempt, putBack(this.#engine, attempt, { kind: 'untouched' }))
      else if (allAmong(payload, found)) this.#drop(attempt, { kind: 'cancelled', begun: false })
      else if (found.size === 0) this.#admit(attempt)
      else this.#leaveOut(attempt, found)
    } catch (thrown) {
      this.#killUnrunnable(fetched, thrown)
    }
    // Its start may wait for the answer of a call, while the loop waits for a settlement to send.
    this.#options.wake()
  }

  #admit(attempt: Attempt): void {
    const { fetched, payload } = attempt
    const { queue, ticket, text } = fetched
    if (payload.expires_in !== undefined && isLate(payload, text, this.#engine.now())) {
      this.#drop(attempt, { kind: 'expired' })
      return
    }
    // The process of one of its rows may die of it once more: that must not cost the others an attempt.
    const rows = payload.hk_rows && payload.hk_stalls ? rowsOf(attempt) : undefined
    if (rows) {
      this.#end(attempt, splitIntoRows(this.#engine, attempt, rows, { kind: 'apart' }))
      return
    }
    const effects = effectsOf(this.#engine, payload, { kind: 'started' }, attempt.ctx)
    if (!effects) {
      void this.#run(attempt)
      return
    }
    if (payload.hk_rows) {
      this.#admitRows(attempt, effects)
      return
    }
    // One in a list may be what is left of several: that shows in nothing else.
    if (payload.retry_count === undefined && payload.hk_attempt === undefined && !payload.hk_list) {
      const hear = ([superseded]: readonly boolean[]) => {
        if (superseded) attempt.ctx.abort('JOB_CANCELLED', 'its task was cancelled')
      }
      this.#report.addStart([{ queue, ticket, effects }], hear)
      void this.#run(attempt)
      return
    }
    // A text that has been about may be an old one: what it belongs to is asked first.
    const hear = ([superseded]: readonly boolean[]) => {
      if (superseded) this.#end(attempt, { ...bury(this.#engine, fetched), move: null })
      else void this.#run(attempt)
    }
    this.#report.addStart([{ queue, ticket, effects }], hear)
  }

  /** Each of its rows may have been overtaken, or cancelled with its task: it runs without those. */
  #admitRows(attempt: Attempt, effects: readonly Effect[]): void {
    const { fetched, payload } = attempt
    const { queue, ticket, text } = fetched
    const hear = (superseded: readonly boolean[]) => {
      const left = superseded.flatMap((isOver, i) => (isOver ? [] : [i]))
      if (left.length === 0) this.#end(attempt, { ...bury(this.#engine, fetched), move: null })
      else if (left.length === superseded.length) void this.#run(attempt)
      else {
        const narrowed = openAttempt(this.#engine, { ...fetched, text: someRows(text, payload, left) }, attempt.slot)
        this.#running.set(ticket, narrowed as Attempt)
        void this.#run(narrowed as Attempt)
      }
    }
    const started = effects.map((effect) => ({ queue, ticket, effects: [effect] }))
    this.#report.addStart(started, hear)
  }

  #leaveOut(attempt: Attempt, cancelled: ReadonlySet<string>): void {
    const drop = (row: Attempt) => dropped(this.#engine, row, { kind: 'cancelled', begun: false })
    const settlement = withoutCancelledRows(this.#engine, attempt, cancelled, drop)
    if (settlement) this.#endKept(attempt, settlement)
    else this.#end(attempt, putBack(this.#engine, attempt, { kind: 'untouched' }))
  }

  #drop(attempt: Attempt, outcome: Parameters<typeof dropped>[2]): void {
    this.#endKept(attempt, dropped(this.#engine, attempt, outcome))
  }

  /** It ends without having begun, and whoever waits for its result hears of it. */
  #endKept(attempt: Attempt, settlement: Settlement): void {
    if (attempt.definition?.options.keepResult === undefined) this.#end(attempt, settlement)
    else void keepEnd(this.#engine, attempt, settlement).then((kept) => kept && this.#end(attempt, kept))
  }

  /**
   * Runs an attempt, unless its job may belong to another process by now: the process may have been stopped at any time
   * since the job was fetched. Then the store is asked first.
   */
  async #run(attempt: Attempt): Promise<void> {
    const { eventLoop, wake } = this.#options
    const { lease } = this.#engine
    let now = performance.now()
    while (lease && now >= lease.safeUntil) {
      if (!(await lease.confirm()) || this.#running.get(attempt.fetched.ticket) !== attempt) return
      now = performance.now()
    }
    attempt.began = now
    const place = eventLoop.began(attempt.payload.jid, attempt.payload.class, attempt.definition?.options.timeout)
    const running = runAttempt(this.#engine, attempt)
    eventLoop.yielded()
    let settlement: Settlement | undefined
    try {
      settlement = await running
    } catch (thrown) {
      // Nothing decides what becomes of it: it must not come back for ever, and take its worker with it.
      if (this.#running.get(attempt.fetched.ticket) === attempt) this.#killUnrunnable(attempt.fetched, thrown)
      this.#ended()
      wake()
    } finally {
      eventLoop.ended(place)
    }
    if (settlement) this.#end(attempt, settlement)
  }

  #killUnrunnable(fetched: FetchedJob, thrown: unknown): void {
    this.#engine.report(thrown, { context: 'Internal exception!', jobstr: fetched.text })
    this.#running.delete(fetched.ticket)
    this.#report.add(bury(this.#engine, fetched))
  }

  #end(attempt: Attempt, settlement: Settlement): void {
    const { ticket } = settlement
    // Not there: it was put back, or lost with the lease, while its handler went on.
    if (this.#running.get(ticket) !== attempt) {
      this.#report.reportLostOne(ticket)
      return
    }
    this.#running.delete(ticket)
    if (this.#report.withdrawStart(ticket)) {
      // It began and ended since the last call: one change tells both.
      for (const effect of settlement.effects ?? []) {
        if (effect.kind === 'event') effect.startedAt = attempt.startedAt
      }
    }
    const { payload, ctx } = attempt
    const goesBack = settlement.move?.to === 'queue' && settlement.move.end === 'front'
    if (goesBack && this.state !== 'stopping' && ctx.abortReason?.code === 'SHUTDOWN') {
      this.#returns.addInterrupted({ attempt, settlement })
    } else if (goesBack && this.state === 'open') {
      this.#returns.addReleased({ attempt, settlement })
    } else {
      this.#report.add(settlement, settlement.also ? endedRows(attempt) : jidsOf(payload))
    }
    this.#ended()
    this.#options.wake()
  }

  #ended(): void {
    if (this.#running.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}
