/**
 * The heart of a worker: one loop that tells the store, in one call, what began and what ended, and takes what comes
 * next. Under load the calls batch themselves, for whatever ends while one is under way goes into the next; when there
 * is nothing to do the loop waits.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../job/errors.ts'
import { isLate } from '../job/expiry.ts'
import type { Settlement, Started, Taken } from '../store/contract.ts'
import { type Engine, effectsOf } from './engine.ts'
import type { QueueOrder } from './queues.ts'
import { keepEnd } from './results.ts'
import { type Attempt, bury, dropped, openAttempt, putBack, runAttempt } from './runner.ts'
import type { Vitals } from './vitals.ts'

export interface FetcherOptions {
  concurrency: number
  queues: QueueOrder
  owner: () => string
  vitals: Vitals
  /** Of the next job that its worker begins. */
  nextPlace: () => number
  /** The store says that this owner is not ours any more: become another one. */
  onFenced: () => Promise<void>
}

/** A job that goes back to its queue, and the how-many-th it is that its worker began. */
export interface Back {
  settlement: Settlement
  place: number
}

/** A wait is asked anew at least so often. */
const WAIT_MS = 2000
/** When no queue is to be asked just now. */
const UNASKED_MS = 1000
const RELEASE_MS = 1000
const MOST_REFUSALS = 5
/** A store that is away is asked at least so often. */
const LONGEST_REST_MS = 1000

export class Fetcher {
  readonly #engine: Engine
  readonly #options: FetcherOptions
  readonly #running = new Map<string, Attempt>()
  /** Jobs whose handlers gave them back; they hold no slot. */
  readonly #released = new Map<string, Back & { timer: NodeJS.Timeout }>()
  /** Jobs whose handlers ended because the worker stops; they go back all together, so that their order holds. */
  #interrupted: Back[] = []
  #settlements: Settlement[] = []
  /** Jobs that will be gone with them. */
  #gone: string[] = []
  #started = new Map<string, Started>()
  /** Attempts that begin only when the store has said that they should. */
  #onStart = new Map<string, (superseded: boolean) => void>()
  /** Tickets of jobs that may be cancelled: they begin only when the store has said that they are not. */
  readonly #doubted = new Set<string>()
  /** Settlements that the store could not apply, by ticket. */
  readonly #refusals = new Map<string, number>()
  #quiet = false
  #stopping = false
  #loop: Promise<void> | undefined
  /** The calls that are under way: they may bring jobs. */
  readonly #outstanding = new Set<Promise<void>>()
  /** Jobs that they ask for. */
  #wanted = 0
  /** In a row. */
  #failures = 0
  #failingSince = 0
  /** Milliseconds to wait before the next call. */
  #rest = 0
  /** While the loop waits. */
  #wakeUp: (() => void) | undefined
  /** The last take brought less than was asked for. */
  #drained = false
  #whenEmpty: (() => void)[] = []
  #orderBroke = false
  /** What the store complained of last: it is told once. */
  #problem: string | undefined

  constructor(engine: Engine, options: FetcherOptions) {
    this.#engine = engine
    this.#options = options
  }

  get busy(): number {
    return this.#running.size
  }

  get attempts(): Attempt[] {
    return [...this.#running.values()]
  }

  start(): void {
    this.#loop = this.#turns()
  }

  /** Takes no more. */
  quiet(): void {
    this.#quiet = true
    this.#wake()
  }

  /** Resolves when nothing runs, and nothing is about to. */
  async idle(): Promise<void> {
    await Promise.all(this.#outstanding)
    if (this.#running.size === 0) return
    await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Tells every handler that runs to end. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const { ctx } of this.#running.values()) ctx.abort(code, message)
  }

  /** Lets go of all that still runs or waits to go back; answers what puts it back. */
  giveUp(): Back[] {
    this.quiet()
    const back = [...this.#interrupted, ...this.#released.values()]
    for (const attempt of this.#running.values()) {
      // One that still waits for an answer has not begun.
      const { ticket } = attempt.taken
      const begun = !this.#onStart.has(ticket) && !this.#doubted.has(ticket)
      if (!begun) this.#started.delete(attempt.taken.ticket)
      const kind = begun ? 'interrupted' : 'untouched'
      back.push({ settlement: putBack(this.#engine, attempt, { kind }), place: attempt.place })
    }
    for (const { timer } of this.#released.values()) clearTimeout(timer)
    this.#running.clear()
    this.#onStart.clear()
    this.#doubted.clear()
    this.#interrupted = []
    this.#released.clear()
    return back
  }

  /** Tells the store these and all else that is left to tell, and ends. */
  async stop(settlements: readonly Settlement[]): Promise<void> {
    this.#settlements.push(...settlements)
    this.#stopping = true
    this.#wake()
    await this.#loop
  }

  /** The owner's jobs belong to others now: forget them. */
  forget(): void {
    this.abort('LEASE_LOST', 'this process lost its lease: the job may run elsewhere by now')
    this.#running.clear()
    for (const { timer } of this.#released.values()) clearTimeout(timer)
    this.#released.clear()
    this.#interrupted = []
    for (const { ticket } of this.#settlements) this.#refused(ticket)
    this.#settlements = []
    this.#gone = []
    this.#started.clear()
    this.#onStart.clear()
    this.#doubted.clear()
    this.#ended()
    // All slots are free now.
    this.#wake()
  }

  async #turns(): Promise<void> {
    const { turnsAtOnce } = this.#engine.store
    for (;;) {
      const free = this.#free
      const telling = this.#settlements.length + this.#started.size > 0
      const underWay = this.#outstanding.size
      // At the end there is no point in asking for ever: the lease ends, and what we hold is found.
      if (this.#stopping && underWay === 0 && (!telling || this.#failures > 5)) return
      if (this.#rest > 0 && underWay === 0) {
        const ms = this.#rest
        this.#rest = 0
        await sleep(ms)
      } else if (this.#rest === 0 && underWay < turnsAtOnce && (telling || (free > 0 && !this.#drained))) {
        // Handlers that take no time have ended after this, and are told in the same call.
        await nextTurn()
        this.#launch()
      } else if (underWay > 0 || free === 0) {
        await this.#waitForWake()
      } else {
        await this.#waitForJobs(free).then(
          () => this.#succeeded(),
          (thrown) => this.#failed(thrown),
        )
      }
    }
  }

  /** Slots for which no job was asked yet. */
  get #free(): number {
    return this.#quiet ? 0 : Math.max(this.#options.concurrency - this.#running.size - this.#wanted, 0)
  }

  #launch(): void {
    const n = this.#free
    this.#wanted += n
    const turn = this.#turn(n)
      .then(
        () => this.#succeeded(),
        (thrown) => this.#failed(thrown),
      )
      .finally(() => {
        this.#outstanding.delete(turn)
        this.#wake()
      })
    this.#outstanding.add(turn)
  }

  #succeeded(): void {
    if (this.#failures > 0) {
      const seconds = Math.round((performance.now() - this.#failingSince) / 1000)
      this.#engine.log.info({ seconds }, `the store answers again, after ${seconds} s`)
    }
    this.#failures = 0
  }

  #failed(thrown: unknown): void {
    if (this.#failures++ === 0) {
      this.#failingSince = performance.now()
      this.#engine.report(thrown, { during: 'taking jobs' })
    }
    this.#rest = Math.min(50 * 2 ** this.#failures, LONGEST_REST_MS) * (0.5 + this.#engine.random() / 2)
  }

  async #turn(n: number): Promise<void> {
    const { store, marks } = this.#engine
    const owner = this.#options.owner()
    const settlements = this.#settlements
    const gone = this.#gone
    const started = [...this.#started.values()]
    this.#settlements = []
    this.#gone = []
    this.#started = new Map()
    let answer: Awaited<ReturnType<typeof store.turn>>
    try {
      const take = { queues: n > 0 ? this.#nextQueues() : [], n }
      answer = await store.turn(owner, { now: this.#engine.now(), started, settlements, take })
    } catch (thrown) {
      if (owner !== this.#options.owner()) {
        for (const { ticket } of settlements) this.#refused(ticket)
        return
      }
      this.#settlements = settlements.concat(this.#settlements)
      this.#gone = gone.concat(this.#gone)
      for (const one of started) if (!this.#started.has(one.ticket)) this.#started.set(one.ticket, one)
      throw thrown
    } finally {
      this.#wanted -= n
    }
    // We became another owner meanwhile: what this call was about belongs to others.
    if (owner !== this.#options.owner()) {
      for (const [i, { ticket }] of settlements.entries()) if (answer.settled[i] !== 'ok') this.#refused(ticket)
      return
    }
    if (answer.fenced) {
      for (const { ticket } of settlements) this.#refused(ticket)
      await this.#options.onFenced()
      return
    }
    marks.tell(answer.marks)
    for (const [i, { ticket }] of started.entries()) {
      this.#onStart.get(ticket)?.(answer.started[i] === 'superseded')
      this.#onStart.delete(ticket)
    }
    let failed = false
    for (const [i, settlement] of settlements.entries()) {
      if (answer.settled[i] === 'fenced') this.#refused(settlement.ticket)
      if (answer.settled[i] !== 'error') {
        this.#refusals.delete(settlement.ticket)
        continue
      }
      failed = true
      this.#settlements.push(this.#again(settlement))
    }
    if (n > 0) this.#drained = answer.taken.length < n
    if (marks.isBehind && !(await this.#heed(owner, answer.taken))) return
    if (!marks.isEmpty && answer.settled.every((one) => one === 'ok')) this.#unmark(gone)
    if (this.#stopping) for (const taken of answer.taken.toReversed()) this.#giveBack(taken)
    else for (const taken of answer.taken) this.#tryToBegin(taken)
    if (answer.problem !== this.#problem) {
      this.#problem = answer.problem
      if (answer.problem) {
        this.#engine.report(new HighkiqError('STORE_UNUSABLE', answer.problem), { during: 'taking and settling jobs' })
      }
    }
    if (failed) {
      throw new HighkiqError(
        'STORE_UNUSABLE',
        `the store could not settle a job: asking again. ${answer.problem ?? ''}`,
      )
    }
  }

  /** A strategy that breaks must not hold up what ended. */
  #nextQueues(): readonly string[] {
    const { queues } = this.#options
    try {
      const next = queues.next()
      this.#orderBroke = false
      return next
    } catch (thrown) {
      if (!this.#orderBroke) this.#engine.report(thrown, { during: 'fetchOrder; queues are asked as listed' })
      this.#orderBroke = true
      return queues.names
    }
  }

  /** Something was cancelled: no job begins before it is known which. False: the jobs taken belong to others by now. */
  async #heed(owner: string, taken: readonly Taken[]): Promise<boolean> {
    this.#wanted += taken.length
    try {
      await this.#engine.marks.catchUp()
    } catch (thrown) {
      if (owner === this.#options.owner()) for (const one of taken.toReversed()) this.#giveBack(one)
      throw thrown
    } finally {
      this.#wanted -= taken.length
    }
    return owner === this.#options.owner()
  }

  /** Of jobs that are gone: they have ended by themselves before anybody stopped them. */
  #unmark(jids: readonly string[]): void {
    const { store, marks, now, report } = this.#engine
    for (const jid of jids) {
      if (marks.has(jid)) store.unmark(jid, now()).catch((thrown) => report(thrown, { during: 'taking a mark back' }))
    }
  }

  #waitForWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve
    })
  }

  async #waitForJobs(free: number): Promise<void> {
    const { store } = this.#engine
    const { signal, abort } = abortable()
    this.#wakeUp = abort
    const owner = this.#options.owner()
    const queues = this.#nextQueues()
    const handed: Taken[] =
      queues.length > 0
        ? await store.wait(owner, queues, free, WAIT_MS, signal)
        : await sleep(UNASKED_MS, [], { signal }).catch(() => [])
    this.#drained = false
    if (owner !== this.#options.owner()) return
    // Another capsule's turn may just have heard of a mark.
    if (this.#engine.marks.isBehind && !(await this.#heed(owner, handed))) return
    if (this.#quiet) for (const taken of handed.toReversed()) this.#giveBack(taken)
    else for (const taken of handed) this.#tryToBegin(taken)
  }

  #giveBack(taken: Taken): void {
    const attempt = openAttempt(this.#engine, taken)
    this.#settlements.push(attempt ? putBack(this.#engine, attempt, { kind: 'untouched' }) : bury(this.#engine, taken))
  }

  /** One that can't even be begun must not hold up the others that came with it. */
  #tryToBegin(taken: Taken): void {
    try {
      this.#begin(taken)
    } catch (thrown) {
      this.#bury(taken, thrown)
    }
  }

  #bury(taken: Taken, thrown: unknown): void {
    this.#engine.report(thrown, { context: 'Internal exception!', jobstr: taken.text })
    this.#running.delete(taken.ticket)
    this.#settlements.push(bury(this.#engine, taken))
  }

  #begin(taken: Taken): void {
    const attempt = openAttempt(this.#engine, taken, this.#options.nextPlace())
    if (!attempt) {
      this.#engine.report(new SyntaxError('a job that is not JSON went to the dead set'), {
        context: 'Invalid JSON for job',
        jobstr: taken.text,
      })
      this.#settlements.push(bury(this.#engine, taken))
      return
    }
    this.#running.set(taken.ticket, attempt)
    if (this.#engine.marks.has(attempt.payload.jid)) void this.#doubt(attempt)
    else this.#admit(attempt)
  }

  /** It was cancelled, unless its mark has gone since: the store knows. */
  async #doubt(attempt: Attempt): Promise<void> {
    const { taken, payload } = attempt
    const { ticket } = taken
    const { jid } = payload
    this.#doubted.add(ticket)
    const { marks, report } = this.#engine
    const found = await marks.among([jid]).catch((thrown) => report(thrown, { during: 'looking for cancelled jobs' }))
    // Put back meanwhile, or lost with the lease.
    if (!this.#doubted.delete(ticket) || this.#running.get(ticket) !== attempt) return
    try {
      if (!found) this.#end(attempt, putBack(this.#engine, attempt, { kind: 'untouched' }))
      else if (found.has(jid)) this.#drop(attempt, { kind: 'cancelled', begun: false })
      else this.#admit(attempt)
    } catch (thrown) {
      this.#bury(taken, thrown)
    }
  }

  #admit(attempt: Attempt): void {
    const { taken, payload } = attempt
    if (payload.expires_in !== undefined && isLate(payload, taken.text, this.#engine.now())) {
      this.#drop(attempt, { kind: 'expired' })
      return
    }
    const effects = effectsOf(this.#engine, payload, { kind: 'started' }, attempt.ctx)
    if (!effects) {
      void this.#run(attempt)
      return
    }
    this.#started.set(taken.ticket, { queue: taken.queue, ticket: taken.ticket, effects })
    if (payload.retry_count === undefined && payload.hk_attempt === undefined) {
      void this.#run(attempt)
      return
    }
    // A text that has been about may be an old one: what it belongs to is asked first.
    this.#onStart.set(taken.ticket, (superseded) => {
      if (superseded) this.#end(attempt, { ...bury(this.#engine, taken), move: null })
      else void this.#run(attempt)
    })
  }

  #drop(attempt: Attempt, outcome: Parameters<typeof dropped>[2]): void {
    const settlement = dropped(this.#engine, attempt, outcome)
    if (attempt.definition?.options.keepResult === undefined) this.#end(attempt, settlement)
    else void keepEnd(this.#engine, attempt, settlement).then((kept) => kept && this.#end(attempt, kept))
  }

  async #run(attempt: Attempt): Promise<void> {
    const { vitals } = this.#options
    const place = vitals.began(attempt.payload.jid, attempt.payload.class, attempt.definition?.options.timeout)
    const running = runAttempt(this.#engine, attempt)
    vitals.yielded()
    let settlement: Settlement | undefined
    try {
      settlement = await running
    } catch (thrown) {
      // Nothing decides what becomes of it: it must not come back for ever, and take its worker with it.
      if (this.#running.get(attempt.taken.ticket) === attempt) this.#bury(attempt.taken, thrown)
      this.#ended()
      this.#wake()
    } finally {
      vitals.ended(place)
    }
    if (settlement) this.#end(attempt, settlement)
  }

  #end(attempt: Attempt, settlement: Settlement): void {
    const { ticket } = settlement
    // Not there: it was put back, or lost with the lease, while its handler went on.
    if (this.#running.get(ticket) !== attempt) {
      this.#refused(ticket)
      return
    }
    this.#running.delete(ticket)
    if (this.#started.delete(ticket)) {
      // It began and ended since the last call: one change tells both.
      for (const effect of settlement.effects ?? []) {
        if (effect.kind === 'event') effect.startedAt = attempt.startedAt
      }
    }
    const { place } = attempt
    const goesBack = settlement.move?.to === 'queue' && settlement.move.end === 'front'
    if (!settlement.move || settlement.move.to === 'dead') this.#gone.push(attempt.payload.jid)
    if (goesBack && !this.#stopping && attempt.ctx.abortReason?.code === 'SHUTDOWN') {
      this.#interrupted.push({ settlement, place })
    } else if (goesBack && !this.#stopping && !this.#quiet) {
      const timer = setTimeout(() => this.#tell(this.#released.get(ticket)?.settlement), RELEASE_MS)
      this.#released.set(ticket, { settlement, place, timer })
    } else {
      this.#settlements.push(settlement)
    }
    this.#ended()
    this.#wake()
  }

  #tell(settlement: Settlement | undefined): void {
    if (!settlement) return
    this.#released.delete(settlement.ticket)
    this.#settlements.push(settlement)
    this.#wake()
  }

  /** The settlement that is to be asked for again. One that is never accepted is reduced to what matters. */
  #again(settlement: Settlement): Settlement {
    const refusals = (this.#refusals.get(settlement.ticket) ?? 0) + 1
    this.#refusals.set(settlement.ticket, refusals)
    if (refusals < MOST_REFUSALS) return settlement
    this.#refusals.delete(settlement.ticket)
    const { move, effects: _, ...rest } = settlement
    this.#engine.report(new HighkiqError('STORE_UNUSABLE', "the store refuses a job's end: it goes to the dead set"), {
      ticket: settlement.ticket,
    })
    return { ...rest, move: move && { to: 'dead', text: move.text, score: this.#engine.now() / 1000 } }
  }

  #refused(ticket: string): void {
    this.#engine.report(
      new HighkiqError('LEASE_LOST', 'a job ended after it had been given to others: its end was not recorded'),
      { ticket },
    )
  }

  #ended(): void {
    if (this.#running.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #wake(): void {
    this.#wakeUp?.()
    this.#wakeUp = undefined
  }
}

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
