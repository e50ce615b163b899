/** Logs one line when a job starts and one when it ends, like Sidekiq: `start`, then `done` or `fail` with the seconds. */

import type { JobContext } from '../job/context.ts'
import { messageOf, type Verdict, verdictOf } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'

interface Needs {
  isBusiness(error: unknown): boolean
}

interface LoggedAttempt {
  ctx: JobContext
  /** When its handler was called, on the monotonic clock. */
  began: number
}

export class JobLog {
  readonly #level: 'info' | 'debug'
  readonly #needs: Needs

  constructor(level: 'info' | 'debug', needs: Needs) {
    this.#level = level
    this.#needs = needs
  }

  start({ ctx }: LoggedAttempt): void {
    ctx.log[this.#level]({}, 'start')
  }

  done(attempt: LoggedAttempt): void {
    this.#end(attempt, 'done')
  }

  /**
   * Logs `snooze`, `release` or `discard` when the handler threw one of these, `interrupted` when the worker stops, and
   * `fail` otherwise. The line of a business failure has its `code` and `message`, which no other line of the log has.
   */
  threw(attempt: LoggedAttempt, thrown: unknown): void {
    const verdict = verdictOf(thrown)
    if (verdict === 'snooze' || verdict === 'release' || verdict === 'discard') this.#end(attempt, verdict)
    else if (attempt.ctx.abortReason?.code === 'SHUTDOWN') this.#end(attempt, 'interrupted')
    else this.#end(attempt, 'fail', this.#reasonOf(thrown, verdict))
  }

  #reasonOf(thrown: unknown, verdict: Verdict | undefined): object {
    if (verdict !== 'business-failure' && (verdict !== undefined || !this.#needs.isBusiness(thrown))) return {}
    const { code } = thrown as { code?: unknown }
    return { ...(code === undefined ? {} : { code }), message: messageOf(thrown) }
  }

  #end({ ctx, began }: LoggedAttempt, word: string, reason: object = {}): void {
    ctx.log[this.#level]({ elapsed: Math.round(performance.now() - began) / 1000, ...reason }, word)
  }
}

/**
 * Returns a log at level info if `wanted`, else at debug. Returns undefined when the logger would drop the lines, so that
 * they cost nothing.
 */
export function jobLogOf(log: Logger, wanted: boolean, needs: Needs): JobLog | undefined {
  if (wanted) return log.isLevelEnabled?.('info') === false ? undefined : new JobLog('info', needs)
  return log.isLevelEnabled?.('debug') ? new JobLog('debug', needs) : undefined
}
