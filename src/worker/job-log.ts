/** One line when a job begins and one when it ends, as Sidekiq has them: `start`, then `done` or `fail` with the seconds. */

import type { JobContext } from '../job/context.ts'
import { verdictOf } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'

/** As much of an attempt as its lines need. */
interface Attempt {
  ctx: JobContext
  /** When its handler was called, on the monotonic clock. */
  began: number
}

export class JobLog {
  readonly #level: 'info' | 'debug'

  constructor(level: 'info' | 'debug') {
    this.#level = level
  }

  start({ ctx }: Attempt): void {
    ctx.log[this.#level]({}, 'start')
  }

  done(attempt: Attempt): void {
    this.#end(attempt, 'done')
  }

  /** `fail`, unless it was thrown to have another end: `snooze`, `release`, `discard`; `interrupted` by a stop. */
  threw(attempt: Attempt, thrown: unknown): void {
    const verdict = verdictOf(thrown)
    if (verdict === 'snooze' || verdict === 'release' || verdict === 'discard') this.#end(attempt, verdict)
    else this.#end(attempt, attempt.ctx.abortReason?.code === 'SHUTDOWN' ? 'interrupted' : 'fail')
  }

  #end({ ctx, began }: Attempt, word: string): void {
    ctx.log[this.#level]({ elapsed: Math.round(performance.now() - began) / 1000 }, word)
  }
}

/**
 * Wanted: at info. Else at debug, for loggers that can say that they show it; undefined where nobody would see a line, for
 * then it must cost nothing.
 */
export function jobLogOf(log: Logger, wanted: boolean): JobLog | undefined {
  if (wanted) return log.isLevelEnabled?.('info') === false ? undefined : new JobLog('info')
  return log.isLevelEnabled?.('debug') ? new JobLog('debug') : undefined
}
