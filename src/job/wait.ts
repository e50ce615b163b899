/** Waits with a limit. The work itself is not stopped: it continues when nothing waits for it any more. */

import { HighkiqError } from './errors.ts'

const LATE = Symbol('late')

/** The seconds for which Highkiq waits for a handler of the app, such as `onDeath`. */
const HANDLER_SECONDS = 30

/** Resolves with whether the work was done within `ms`. @throws what the work throws in that time */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  return (await race(ms, work)) !== LATE
}

/** Resolves with the result of the work. @throws what it throws; MIDDLEWARE_TIMEOUT when `who` takes longer than `seconds` */
export async function answerOf<T>(who: string, seconds: number, work: Promise<T>): Promise<T> {
  const answer = await race(seconds * 1000, work)
  if (answer !== LATE) return answer
  throw new HighkiqError('MIDDLEWARE_TIMEOUT', `${who} did not answer within ${seconds} s`)
}

/** Calls a handler of the app, and resolves with its result. @throws what it throws; MIDDLEWARE_TIMEOUT after HANDLER_SECONDS */
export function answerOfHandler<T>(who: string, call: () => T | PromiseLike<T>): Promise<T> {
  return answerOf(who, HANDLER_SECONDS, (async () => call())())
}

/** Resolves with the result of the work. @throws what it throws; the reason of the signal once that is aborted */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

function race<T>(ms: number, work: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
