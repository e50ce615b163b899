/** Knows whether a shard can be reached. While it can't, each call fails at once, and not only after a timeout. */

import { causesOf, HighkiqError, hasCode, isUnreachable, messageOf, PushError } from '../../job/errors.ts'
import { within } from '../../job/wait.ts'

/** The first and the longest time between two checks of a shard that can't be reached. */
const FIRST_CHECK_MS = 20
const MAX_CHECK_MS = 1000
/** A shard that does not answer a check within this time can't be reached. */
const SILENT_MS = 1000

/**
 * `push`: rejects with a PushError. `wait`: a lost connection may be that of this call only, so the shard is checked
 * first.
 */
export type CallKind = 'call' | 'push' | 'wait'

export interface ReachabilityOptions {
  /** The shard as errors name it. */
  name: string
  url: string
  /** Opens the shard and makes sure that it is the right one. */
  check: () => Promise<void>
  /** Called when the shard can be reached again. */
  onReached: () => void
}

export class Reachability {
  readonly #options: ReachabilityOptions
  /** Why calls fail; undefined while the shard can be reached. */
  #failure: HighkiqError | undefined
  #isVerified = false
  #verifying: Promise<void> | undefined
  #isChecking = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  readonly #waiting = new Set<() => void>()

  constructor(options: ReachabilityOptions) {
    this.#options = options
  }

  /** Why the shard can't be reached; undefined if it can, as far as this process knows. */
  get failure(): HighkiqError | undefined {
    return this.#failure
  }

  get isReachable(): boolean {
    return this.#failure === undefined
  }

  /** Calls the shard; checks it before the first call. @throws STORE_UNREACHABLE at once while it can't be reached */
  call<T>(work: () => Promise<T>, kind: CallKind = 'call'): Promise<T> {
    if (this.#isVerified && this.isReachable) return this.#observed(work(), kind)
    return this.verified().then(
      () => this.#observed(work(), kind),
      (thrown) => {
        throw kind === 'push' ? notPushed(thrown) : thrown
      },
    )
  }

  /**
   * Resolves when the shard was reached once, and is the right one.
   * @throws STORE_UNREACHABLE at once while it can't be reached; STORE_UNUSABLE if it is another one
   */
  async verified(): Promise<void> {
    if (this.#failure && !this.#isClosed) throw this.#failure
    this.#verifying ??= this.#options.check().then(
      () => this.#reached(),
      (thrown) => {
        this.#verifying = undefined
        const error = causesOf(thrown).find(isUnreachable)
        if (error) this.#lost(error)
        throw this.#failure ?? unsent(thrown)
      },
    )
    await this.#verifying
  }

  /** Checks a shard that has not answered for a moment: if it does not answer the check either, it can't be reached. */
  checkLate(): void {
    if (this.#isChecking || this.#failure || this.#isClosed || !this.#isVerified) return
    this.#isChecking = true
    const { check, url } = this.#options
    const checking = check().then(
      () => this.#reached(),
      (thrown) => {
        if (isUnreachable(thrown)) this.#lost(thrown)
      },
    )
    const silent = new HighkiqError('STORE_TIMEOUT', `${url}: no answer within ${SILENT_MS / 1000} s`)
    void answeredWithin(SILENT_MS, checking).then((isAnswered) => {
      if (!isAnswered) this.#lost(silent)
    })
    void checking.then(() => {
      this.#isChecking = false
    })
  }

  /** Resolves when the shard can be reached, at the latest after `ms` or when `signal` aborts, with whether it can. */
  async reachedWithin(ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.isReachable || signal.aborted) return this.isReachable
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
    })
    return this.isReachable
  }

  /** Ends the checks. From then on the shard itself refuses calls. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#resolveWaiting()
  }

  #observed<T>(answer: Promise<T>, kind: CallKind): Promise<T> {
    answer.catch((thrown) => this.#failed(thrown, kind))
    return answer
  }

  #failed(thrown: unknown, kind: CallKind): void {
    const error = causesOf(thrown).find(isUnreachable)
    if (!error) return
    // A timeout may also come from a lock, or from replicas that do not confirm a push.
    if (kind === 'wait' || hasCode(error, 'STORE_TIMEOUT')) this.checkLate()
    else this.#lost(error)
  }

  #lost(error: object): void {
    if (this.#failure || this.#isClosed) return
    // Later calls fail with this error before they are sent.
    const isKnown = (error as HighkiqError).details?.sent !== undefined
    const message = `${this.#options.name} can't be reached: ${messageOf(error)}`
    this.#failure = new HighkiqError('STORE_UNREACHABLE', message, isKnown ? { sent: false } : undefined, {
      cause: error,
    })
    this.#checkIn(FIRST_CHECK_MS)
  }

  #checkIn(ms: number): void {
    const check = () =>
      this.#options.check().then(
        () => this.#reached(),
        (thrown) => {
          if (this.#isClosed) return
          const answers = !isUnreachable(thrown)
          if (answers && this.#isVerified) {
            this.#reached()
            return
          }
          // This is its first answer: it is the wrong shard, or can't be used.
          if (answers) this.#failure = thrown
          this.#checkIn(Math.min(2 * ms, MAX_CHECK_MS))
        },
      )
    this.#timer = setTimeout(check, ms).unref()
  }

  #reached(): void {
    if (this.#isClosed) return
    this.#isVerified = true
    if (!this.#failure) return
    this.#failure = undefined
    clearTimeout(this.#timer)
    this.#options.onReached()
    this.#resolveWaiting()
  }

  #resolveWaiting(): void {
    for (const resolve of [...this.#waiting]) resolve()
  }
}

/**
 * Resolves with whether the work has ended within `ms`. After the event loop was blocked, the answers that arrived
 * meanwhile are read first. The work must not reject.
 */
export async function answeredWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let isAnswered = false
  const ended = work.then(() => {
    isAnswered = true
  })
  if (!(await within(ms, ended))) await new Promise((resolve) => setImmediate(resolve))
  return isAnswered
}

function notPushed(thrown: unknown): unknown {
  return thrown instanceof HighkiqError ? new PushError(thrown.message, [], false, { cause: thrown }) : thrown
}

/** Returns the error of a check as the error of a call that was not sent, because the check came before the call. */
function unsent(thrown: unknown): unknown {
  if (!(thrown instanceof HighkiqError) || thrown.details?.sent !== true) return thrown
  return new HighkiqError(thrown.code, thrown.message, { ...thrown.details, sent: false }, { cause: thrown.cause })
}
