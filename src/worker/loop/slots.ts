/** The slots of a capsule: each holds one fetched job until its settlement is known. */

import { isLate } from '../../job/expiry.ts'
import { given } from '../../job/options.ts'
import type { Payload } from '../../job/payload.ts'
import { isPriorityName } from '../../job/priority.ts'
import { allAmong, jidsOf, someRows } from '../../job/rows.ts'
import type { Effect, FetchedJob, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { EventLoopRecord } from '../executor.ts'
import { type Attempt, openAttempt } from '../run/attempt.ts'
import { requeueOrCrash } from '../run/crash.ts'
import { keepEnd } from '../run/results.ts'
import { endedRows, rowsOf, splitIntoRows, withoutCancelledRows } from '../run/row-group.ts'
import { callHandler, settleError, settleResult } from '../run/runner.ts'
import { deadUnchanged, dropped, requeue, superseded, withSlotRelease } from '../run/settlements.ts'
import { AttemptRecorder } from './attempt-recorder.ts'
import { LimitChecks, type LimitedSlots } from './limit-checks.ts'
import { Prefetch } from './prefetch.ts'
import { RequeueBuffer, type Requeued } from './requeue-buffer.ts'
import { RunningAttempts } from './running-attempts.ts'
import type { SettlementBuffer } from './settlement-buffer.ts'

export interface SlotsOptions {
  eventLoop: EventLoopRecord
  /** Returns the owner of the fetched jobs. */
  owner: () => string
  /** Returns the slot of the next job that the worker starts. */
  nextSlot: () => number
  buffer: SettlementBuffer
  /** The number of jobs that run at the same time. */
  concurrency: number
  /** Returns false while the jobs fetched ahead wait to be requeued: then none of them starts. */
  mayFill: () => boolean
  /** Called when the jobs fetched ahead must be requeued. The fetcher calls `Slots.requeuePrefetched` once no call fetches. */
  askRequeuePrefetched: () => void
  /** Called when there is a settlement to send, or a free slot. */
  wake: () => void
}

export class Slots implements LimitedSlots {
  readonly #engine: Engine
  readonly #options: SlotsOptions
  readonly #buffer: SettlementBuffer
  readonly running = new RunningAttempts()
  readonly #requeues: RequeueBuffer
  readonly #limitChecks: LimitChecks
  readonly prefetch: Prefetch
  readonly recorder: AttemptRecorder
  /** `quiet`: the capsule fetches no more jobs. `stopping`: every settlement is sent at once. */
  state: 'open' | 'quiet' | 'stopping' = 'open'

  constructor(engine: Engine, options: SlotsOptions) {
    const { buffer, concurrency, askRequeuePrefetched, wake } = options
    this.#engine = engine
    this.prefetch = new Prefetch(concurrency, askRequeuePrefetched)
    this.#options = options
    this.#buffer = buffer
    this.recorder = new AttemptRecorder(engine, buffer, this.running, wake)
    this.#limitChecks = new LimitChecks(engine, options.owner, this)
    this.#requeues = new RequeueBuffer(({ settlement, attempt }) => {
      buffer.add(settlement, [], attempt)
      wake()
    })
  }

  /** Changes the number of jobs that run at the same time. With fewer slots, the jobs that run are not interrupted. */
  resize(concurrency: number): void {
    this.#options.concurrency = concurrency
    this.prefetch.resize(concurrency)
    this.#fill()
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const { ctx } of this.running.all) ctx.abort(code, message)
  }

  /**
   * Gives fetched jobs slots, after those that were fetched ahead. Jobs without a free slot wait for one. While the capsule is
   * quiet, all of them wait to be requeued.
   */
  add(fetched: readonly FetchedJob[]): void {
    this.prefetch.answered()
    for (const job of fetched) this.prefetch.add(job)
    const hasCrashed = fetched.some(({ text }) => text.includes('hk_crashes'))
    // A job that has crashed its process may do so again as soon as it starts, and then every fetched job counts a crash. So the
    // jobs are requeued first, and fetched again as far as there are free slots.
    if (!hasCrashed || this.prefetch.size <= this.#options.concurrency - this.running.size) this.#fill()
    // While there are jobs with a priority, none may wait behind one that was fetched ahead.
    if (!hasCrashed && !fetched.some(({ queue }) => isPriorityName(queue))) return
    this.prefetch.pause()
    this.#options.askRequeuePrefetched()
  }

  /** Requeues jobs without starting them. */
  requeue(fetched: readonly FetchedJob[]): void {
    // The job that is pushed to the front last comes first in the queue.
    for (const job of fetched.toReversed()) {
      try {
        const attempt = openAttempt(this.#engine, job)
        this.#buffer.add(
          attempt ? requeue(this.#engine, attempt, { kind: 'not-started' }) : deadUnchanged(this.#engine, job),
        )
      } catch (thrown) {
        this.#endDeadUnchanged(job, thrown)
      }
    }
  }

  /** Requeues all jobs that were fetched ahead and have not started. Returns whether there are any. */
  requeuePrefetched(): boolean {
    const jobs = this.prefetch.drain()
    this.requeue(jobs)
    return jobs.length > 0
  }

  /** Empties all slots and the requeue buffer. Returns each job with the settlement that requeues it. */
  drain(): Requeued[] {
    const all = this.#requeues.drain()
    for (const attempt of this.running.all) {
      const kind = attempt.began > 0 ? 'interrupted' : 'not-started'
      if (kind === 'not-started') this.#buffer.withdrawStart(attempt.fetched.ticket)
      all.push({ attempt, settlement: withSlotRelease(attempt, requeueOrCrash(this.#engine, attempt, { kind })) })
    }
    this.#buffer.clearStartCallbacks()
    this.running.clear()
    return all
  }

  /** Drops all jobs without settling them: they belong to other workers now. */
  onLeaseLost(): void {
    this.running.clear()
    this.#requeues.drain()
    this.prefetch.drain()
    this.#slotFreed()
  }

  #open(fetched: FetchedJob): void {
    const attempt = openAttempt(this.#engine, fetched, this.#options.nextSlot())
    if (!attempt) {
      this.#engine.report(new SyntaxError('a job that is not JSON went to the dead set'), {
        context: 'Invalid JSON for job',
        jobstr: fetched.text,
      })
      this.#buffer.add(deadUnchanged(this.#engine, fetched))
      return
    }
    this.running.add(attempt)
    if (this.#mayBeCancelled(attempt.payload)) void this.#checkCancelled(attempt)
    else this.#admit(attempt)
  }

  #mayBeCancelled(payload: Payload): boolean {
    const { cancellations } = this.#engine
    return !cancellations.isEmpty && jidsOf(payload).some((jid) => cancellations.has(jid))
  }

  /** Asks the store whether the job is cancelled: the cancellation that the worker knows may have been withdrawn. */
  async #checkCancelled(attempt: Attempt): Promise<void> {
    const { payload } = attempt
    const jids = jidsOf(payload)
    const { cancellations, report } = this.#engine
    const found = await cancellations
      .among(jids)
      .catch((thrown) => report(thrown, { during: 'looking for cancelled jobs' }))
    // The job was requeued meanwhile, or lost with the lease.
    if (!this.running.isCurrent(attempt)) return
    try {
      if (!found) this.end(attempt, requeue(this.#engine, attempt, { kind: 'not-started' }))
      else if (allAmong(payload, found)) this.#drop(attempt, { kind: 'cancelled', begun: false })
      else if (found.size === 0) this.#admit(attempt)
      else this.#dropRows(attempt, found)
    } catch (thrown) {
      this.endBroken(attempt, thrown)
    }
    // The start may have to be sent while the fetcher waits for jobs.
    this.#options.wake()
  }

  #admit(attempt: Attempt): void {
    const { payload } = attempt
    if (this.#isLate(payload, attempt.fetched.text)) {
      this.#drop(attempt, { kind: 'expired' })
      return
    }
    // One of its rows may have crashed the process: alone, that row costs the others no attempt.
    const rows = payload.hk_rows && payload.hk_crashes ? rowsOf(attempt) : undefined
    if (rows) {
      this.end(attempt, splitIntoRows(this.#engine, attempt, rows, { kind: 'split' }))
      return
    }
    if (attempt.mayBeLimited) this.#limitChecks.add(attempt)
    else this.#start(attempt)
  }

  mayDrop({ payload, fetched }: Attempt): boolean {
    return this.#mayBeCancelled(payload) || this.#isLate(payload, fetched.text)
  }

  #isLate(payload: Payload, text: string): boolean {
    return payload.expires_in !== undefined && isLate(payload, text, this.#engine.now())
  }

  /** Ends the attempt as if its handler had thrown. */
  async failBeforeStart(attempt: Attempt, thrown: unknown): Promise<void> {
    try {
      const failed = await settleError(this.#engine, attempt, thrown)
      if (failed && this.running.isCurrent(attempt)) this.end(attempt, failed)
    } catch (second) {
      this.endBroken(attempt, second)
    }
    this.#options.wake()
  }

  startChecked(attempt: Attempt): void {
    this.#start(attempt)
    // The start may have to be sent while the fetcher waits for jobs.
    this.#options.wake()
  }

  #start(attempt: Attempt): void {
    const { fetched, payload } = attempt
    const { queue, ticket } = fetched
    const effects = effectsOf(this.#engine, payload, { kind: 'started' }, attempt.ctx)
    if (!effects) {
      this.#run(attempt)
      return
    }
    if (payload.hk_rows) {
      this.#admitRows(attempt, effects)
      return
    }
    const isReleased = effects.some(({ kind }) => kind === 'release-unique')
    // A job with `hk_list` may be the rest of a split job; no other member shows that.
    if (payload.retry_count === undefined && payload.hk_attempt === undefined && !payload.hk_list && !isReleased) {
      const onStart = ([isSuperseded]: readonly boolean[]) => {
        if (isSuperseded) attempt.ctx.abort('JOB_CANCELLED', 'its task was cancelled')
      }
      this.#buffer.addStart([{ queue, ticket, effects }], onStart)
      this.#run(attempt)
      return
    }
    // The text of a job that ran before may be outdated, and a push that the lock of this one refuses would be lost once
    // the handler has read its data: the handler waits until the store has confirmed the start.
    const onStart = ([isSuperseded]: readonly boolean[]) => {
      if (isSuperseded) this.end(attempt, superseded(fetched))
      else this.#run(attempt)
    }
    this.#buffer.addStart([{ queue, ticket, effects }], onStart)
  }

  /** Runs a job without those of its rows that ended elsewhere or were cancelled with their task. */
  #admitRows(attempt: Attempt, effects: readonly Effect[]): void {
    const { fetched, payload } = attempt
    const { queue, ticket, text } = fetched
    const onStart = (isSuperseded: readonly boolean[]) => {
      const left = isSuperseded.flatMap((isOver, i) => (isOver ? [] : [i]))
      if (left.length === 0) this.end(attempt, superseded(fetched))
      else if (left.length === isSuperseded.length) this.#run(attempt)
      else {
        const narrowed = openAttempt(this.#engine, { ...fetched, text: someRows(text, payload, left) }, attempt.slot)
        Object.assign(narrowed as Attempt, given(attempt, ['slotReleases', 'limitNames']))
        this.running.add(narrowed as Attempt)
        this.#run(narrowed as Attempt)
      }
    }
    const started = effects.map((effect) => ({ queue, ticket, effects: [effect] }))
    this.#buffer.addStart(started, onStart)
  }

  #dropRows(attempt: Attempt, cancelled: ReadonlySet<string>): void {
    const cancel = (row: Attempt) => dropped(this.#engine, row, { kind: 'cancelled', begun: false })
    const settlement = withoutCancelledRows(this.#engine, attempt, cancelled, cancel)
    if (settlement) this.#endWithResult(attempt, settlement)
    else this.end(attempt, requeue(this.#engine, attempt, { kind: 'not-started' }))
  }

  #drop(attempt: Attempt, outcome: Parameters<typeof dropped>[2]): void {
    this.#limitChecks.releaseRoom(attempt)
    this.#endWithResult(attempt, dropped(this.#engine, attempt, outcome))
  }

  /** Ends a job that never started, after its outcome is kept for callers that wait for its result. */
  #endWithResult(attempt: Attempt, settlement: Settlement): void {
    if (attempt.definition?.options.keepResult === undefined) this.end(attempt, settlement)
    else void keepEnd(this.#engine, attempt, settlement).then((kept) => kept && this.end(attempt, kept))
  }

  /**
   * Runs an attempt. If the lease may have been lost since the job was fetched – the process may have been stopped in
   * between – the store is asked first.
   */
  #run(attempt: Attempt): void {
    const { eventLoop } = this.#options
    const { lease, recording } = this.#engine
    const now = performance.now()
    if (lease && now >= lease.safeUntil) {
      void lease.confirm().then((holds) => {
        if (holds && this.running.isCurrent(attempt)) this.#run(attempt)
      })
      return
    }
    attempt.began = now
    if (recording.mayBeOn(now)) this.recorder.started(attempt)
    const { payload, definition } = attempt
    const id = eventLoop.began(payload.jid, payload.class, definition?.options.timeout)
    const running = callHandler(this.#engine, attempt)
    eventLoop.yielded()
    // `await` also ignores a `then` method that the app has added to its promise, which may throw.
    Promise.prototype.then.call(
      running,
      (result) => this.#concluded(attempt, id, settleResult(this.#engine, attempt, result)),
      (thrown) => this.#concluded(attempt, id, settleError(this.#engine, attempt, thrown)),
    )
  }

  /** Ends an attempt. `id` is its number in the record of the event loop. */
  #concluded(attempt: Attempt, id: number, settlement: ReturnType<typeof settleResult> | undefined): void {
    if (settlement instanceof Promise) {
      settlement.then(
        (settled) => this.#concluded(attempt, id, settled),
        (thrown) => {
          this.#options.eventLoop.ended(id)
          this.endBroken(attempt, thrown)
        },
      )
      return
    }
    this.#options.eventLoop.ended(id)
    if (settlement) this.end(attempt, settlement)
  }

  /** Sends a job whose settlement could not be made to the dead set, unchanged. Requeued, it would fail the same way each time. */
  endBroken(attempt: Attempt, thrown: unknown): void {
    if (this.running.isCurrent(attempt)) this.#endDeadUnchanged(attempt.fetched, thrown)
    this.#slotFreed()
    this.#options.wake()
  }

  #endDeadUnchanged(fetched: FetchedJob, thrown: unknown): void {
    this.#engine.report(thrown, { context: 'Internal exception!', jobstr: fetched.text })
    const attempt = this.running.remove(fetched.ticket)
    const settlement = deadUnchanged(this.#engine, fetched)
    this.#buffer.add(attempt ? withSlotRelease(attempt, settlement) : settlement)
  }

  /** Ends an attempt with its settlement, unless it has lost its slot. */
  end(attempt: Attempt, ended: Settlement): void {
    const settlement = withSlotRelease(attempt, ended)
    const { ticket } = settlement
    // The job was requeued, or lost with the lease, while its handler ran.
    if (!this.running.isCurrent(attempt)) {
      this.#buffer.reportLostOne(ticket, attempt.payload.jid)
      return
    }
    this.running.remove(ticket)
    this.prefetch.ended(attempt.ended - attempt.began)
    if (this.#engine.recording.mayBeOn(attempt.ended)) attempt.endedAt = this.#engine.now()
    if (this.#buffer.withdrawStart(ticket)) {
      // The start was not sent yet: the settlement carries it.
      for (const effect of settlement.effects ?? []) {
        if (effect.kind === 'event') effect.startedAt = attempt.startedAt
      }
    }
    const { ctx } = attempt
    const isRequeued = settlement.move?.to === 'queue' && settlement.move.end === 'front'
    if (!isRequeued || this.state === 'stopping') {
      this.#buffer.add(settlement, settlement.also ? endedRows(attempt) : undefined, attempt)
    } else if (ctx.abortReason?.code === 'SHUTDOWN') {
      this.#requeues.addInterrupted({ attempt, settlement })
    } else {
      this.#requeues.addReleased({ attempt, settlement })
    }
    this.#slotFreed()
    this.#options.wake()
  }

  /**
   * Gives free slots to jobs that were fetched ahead. Each starts at once or after a check; one that can't start must not
   * block the others.
   */
  #fill(): void {
    if (!this.#options.mayFill()) return
    while (this.state === 'open' && this.running.size < this.#options.concurrency) {
      const next = this.prefetch.shift()
      if (!next) return
      try {
        this.#open(next)
      } catch (thrown) {
        this.#endDeadUnchanged(next, thrown)
      }
    }
  }

  #slotFreed(): void {
    if (this.prefetch.isStale) this.#options.askRequeuePrefetched()
    else this.#fill()
    this.running.slotFreed()
  }
}
