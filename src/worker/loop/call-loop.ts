/**
 * The loop of calls by which a worker settles and fetches jobs, ordinary and ordered ones. A call drains what ended,
 * sends it, and applies the answer; when it fails, it restores what it has drained. Whatever ends during one call goes
 * with the next, so that one call carries many jobs under load.
 */

import { HighkiqError, hasCode } from '../../job/errors.ts'
import type { Engine } from '../engine.ts'

/** The longest pause after a failed call. */
const MAX_PAUSE_MS = 1000

export abstract class CallLoop<Sent, Answer extends { problem?: string | undefined }> {
  protected readonly engine: Engine
  readonly #during: string
  readonly #calls = new Set<Promise<void>>()
  /** A call starts at the end of this turn of the event loop. */
  #isPlanned = false
  #step: Promise<void> | undefined
  #pauseTimer: NodeJS.Timeout | undefined
  /** The number of calls that failed in a row, and when the first of them did. */
  #failures = 0
  #failingSince = 0
  /** The store was closed while the worker runs: no call can succeed any more. */
  #isClosed = false
  #isFinished = false
  #onFinished: (() => void)[] = []
  /** The problem that the store reported last; each is reported once. */
  #problem: string | undefined

  /** @param during names the calls in error reports */
  constructor(engine: Engine, during: string) {
    this.engine = engine
    this.#during = during
  }

  protected abstract get hasSettlements(): boolean
  /** Whether there is anything to settle or to fetch. */
  protected abstract get hasWork(): boolean
  /** Removes and returns the content of the next call; undefined when there is none. */
  protected abstract drainCall(): Sent | undefined
  protected abstract send(sent: Sent): Promise<Answer>
  /** Applies the answer. If this throws, the call has failed. */
  protected abstract applyAnswer(sent: Sent, answer: Answer): Promise<void> | void
  /** Puts back what a failed call has drained. Returns false when the failure has no meaning any more. */
  protected abstract restore(sent: Sent, thrown: unknown): boolean
  /** Whether calls start while a step is under way. */
  protected get callsDuringStep(): boolean {
    return false
  }
  /** Called when a call has ended, in whatever way. */
  protected callEnded(_sent: Sent): void {}
  /** Called when no call is under way and there is nothing to settle or to fetch. */
  protected onIdle(): void {}

  protected get callCount(): number {
    return this.#calls.size
  }

  /** Whether no call is under way or planned, and the loop is not pausing. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && !this.#isPlanned && !this.#step && !this.#pauseTimer
  }

  /** Starts a call at the end of this turn of the event loop, if there is anything to settle or to fetch. */
  plan(): void {
    if (this.#isPlanned || this.#pauseTimer || this.#isFinished || this.#isClosed) return
    if (this.#step && !this.callsDuringStep) return
    if (this.#calls.size >= this.engine.store.maxConcurrentCalls) return
    if (this.hasWork) {
      this.#isPlanned = true
      // Handlers that take no time end before that, so that the same call settles them.
      setImmediate(() => this.#startCall())
    } else if (this.#calls.size === 0) {
      this.onIdle()
      this.#resolveFinished()
    }
  }

  /** Does some other work when no call is under way; see `callsDuringStep`. */
  protected step(work: () => Promise<void>): void {
    if (!this.isIdle || this.#isFinished || this.#isClosed) return
    this.#step = work()
      .catch((thrown) => this.#failed(thrown))
      .finally(() => {
        this.#step = undefined
        this.#proceed()
      })
  }

  /** Resolves when the calls that are under way now have ended. */
  protected async callsEnded(): Promise<void> {
    await Promise.all(this.#calls)
  }

  /**
   * Sends all settlements, as often as it takes, and ends the loop. After an abort it drops those that are left. Resolves with
   * whether none was dropped.
   */
  async finish(signal: AbortSignal): Promise<boolean> {
    this.plan()
    if (!this.#canFinish && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#onFinished.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    this.#isFinished = true
    clearTimeout(this.#pauseTimer)
    return this.#canFinish && !this.hasSettlements
  }

  /** Notes that the store answers; after an outage it logs this. */
  protected answered(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    const seconds = Math.round((performance.now() - this.#failingSince) / 1000)
    this.engine.log.info({ seconds }, `the store answers again, after ${seconds} s`)
  }

  get #canFinish(): boolean {
    if (this.#calls.size > 0 || this.#isPlanned || this.#step) return false
    return !this.hasSettlements || this.#isClosed
  }

  #startCall(): void {
    this.#isPlanned = false
    if (this.#isFinished) return
    const sent = this.drainCall()
    if (sent === undefined) {
      this.#proceed()
      return
    }
    const call = this.#call(sent).finally(() => {
      this.#calls.delete(call)
      this.callEnded(sent)
      this.#proceed()
    })
    this.#calls.add(call)
    // A store that takes several calls at once works on one while the worker runs what another has fetched.
    this.plan()
  }

  async #call(sent: Sent): Promise<void> {
    let answer: Answer
    try {
      answer = await this.send(sent)
    } catch (thrown) {
      if (this.restore(sent, thrown)) this.#failed(thrown)
      return
    }
    this.reportProblem(answer.problem)
    try {
      await this.applyAnswer(sent, answer)
      this.answered()
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  /** Continues after a call, a step or a pause. */
  #proceed(): void {
    this.plan()
    this.#resolveFinished()
  }

  #resolveFinished(): void {
    if (this.#canFinish) for (const resolve of this.#onFinished.splice(0)) resolve()
  }

  /** Of failures in a row only the first is reported. */
  #failed(thrown: unknown): void {
    this.#isClosed ||= hasCode(thrown, 'STORE_CLOSED')
    if (this.#failures++ === 0) {
      this.#failingSince = performance.now()
      this.engine.report(thrown, { during: this.#during })
    }
    this.#pause()
  }

  #pause(): void {
    if (this.#isClosed) return
    const ms = Math.min(50 * 2 ** this.#failures, MAX_PAUSE_MS) * (0.5 + this.engine.random() / 2)
    this.#pauseTimer ??= setTimeout(() => {
      this.#pauseTimer = undefined
      this.#proceed()
    }, ms)
  }

  /** Reports a problem unless it is the one of the last answer. */
  protected reportProblem(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem) this.engine.report(new HighkiqError('STORE_UNUSABLE', problem), { during: this.#during })
  }
}
