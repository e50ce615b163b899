/** Rows whose end comes from outside: a handler defers its row, and a webhook or another system ends it later. */

import type { AppPort } from '../app/port.ts'
import { checkValue } from '../job/args.ts'
import type { DeferOptions } from '../job/context.ts'
import { millisecondsOf } from '../job/duration.ts'
import { HighkiqError, invalidOption, messageOf } from '../job/errors.ts'
import { checkOptions, checkText, type OptionRule, shown } from '../job/options.ts'
import type { Payload } from '../job/payload.ts'
import { resultText } from '../job/result.ts'
import type { DeferredEnd, EventStatus } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import { ItemRunner } from '../worker/maintenance.ts'
import { appMessage, rowCode } from './messages.ts'
import { retryTransient, type StoreOfTasks } from './rows.ts'

/** The answer of `hq.tasks.finish` and `hq.tasks.fail`. */
export interface EndedRow {
  /** Whether this call ended the row; false: the row had ended before. */
  changed: boolean
  /** The status with which the row ended. */
  status: EventStatus
  code: string | null
}

/** The code of a row whose deadline passed. */
const TIMEOUT = 'deferred-timeout'
const DEFAULT_WITHIN = '1d'
const YEAR_MS = 366 * 86_400_000
const ROWS_AT_ONCE = 100

const WITHIN: OptionRule = [
  (time) => millisecondsOf(time) > 0 && millisecondsOf(time) <= YEAR_MS,
  "a time above 0 and at most a year, in seconds or a string such as '2h'",
]

/** Returns false when the row has ended, or its task is being cancelled. @throws INVALID_OPTION */
export async function deferRow(app: AppPort, payload: Payload, options: DeferOptions = {}): Promise<boolean> {
  checkOptions('ctx.defer', options, { within: WITHIN })
  const refusal = refusalOf(app, payload)
  if (refusal) throw invalidOption(`ctx.defer: ${payload.class} ${refusal}`)
  const { store, now } = app
  const { jid, hk_run: run = 1, hk_attempt = 0 } = payload
  const at = now()
  const until = at + millisecondsOf(options.within ?? DEFAULT_WITHIN)
  const row = { jid, run, attempt: hk_attempt + 1, at, until }
  return (await retryTransient(() => store.tasks.defer(row, at))) === 'ok'
}

/** Returns why a row of this job can't be deferred; undefined when it can. */
function refusalOf({ registry }: AppPort, payload: Payload): string | undefined {
  if (payload.hk_list) return 'gets several rows (rowsPerJob), and only a job of one row can be deferred'
  if (payload.hk_part) return 'makes a page of an export, which must return its rows'
  if (registry.get(payload.class)?.options.keepResult === undefined) return undefined
  return 'has keepResult: read the result of a deferred row with hq.tasks.event(jid)'
}

/** @throws UNKNOWN_TASK, NOT_DEFERRED, INVALID_OPTION */
export function finishRow(app: StoreOfTasks, jid: string, result: unknown): Promise<EndedRow> {
  if (result !== undefined) checkResult(result)
  const { text, problem } = resultText(result)
  if (problem !== undefined) throw invalidOption(`tasks.finish: the result must be JSON of at most 16 kB: ${problem}`)
  return endRow(app, 'tasks.finish', { jid, status: 'finished', ...(text === undefined ? {} : { result: text }) })
}

/** Refuses what JSON would change or leave out. @throws INVALID_OPTION */
function checkResult(result: unknown): void {
  try {
    checkValue(result, 'result', 'tasks.finish')
  } catch (thrown) {
    throw invalidOption(messageOf(thrown))
  }
}

/** @throws UNKNOWN_TASK, NOT_DEFERRED, INVALID_OPTION */
export function failRow(app: StoreOfTasks, jid: string, message: string, code?: string): Promise<EndedRow> {
  if (typeof message !== 'string' || message === '') {
    throw invalidOption(`tasks.fail: message must be a string that says why the row failed (got ${shown(message)})`)
  }
  checkOptions('tasks.fail', { code }, { code: 'text' })
  const messages = [appMessage(app.now(), message)]
  return endRow(app, 'tasks.fail', {
    jid,
    status: 'failed',
    messages,
    ...(code === undefined ? {} : { code: rowCode(code) }),
  })
}

async function endRow({ store, now }: StoreOfTasks, where: string, end: DeferredEnd): Promise<EndedRow> {
  const { jid } = end
  checkText(`${where}: a jid`, jid)
  const { answer, status, code } = /^[0-9a-f]{24}$/.test(jid)
    ? await retryTransient(() => store.tasks.endDeferred(end, now()))
    : { answer: 'unknown', status: null, code: null }
  if (status === null) {
    throw new HighkiqError('UNKNOWN_TASK', `no row ${jid}: its task was deleted, or it was never tracked`)
  }
  if (answer !== 'not-deferred') return { changed: answer === 'ok', status, code }
  const message = `row ${jid} is ${status}, and its handler has not called ctx.defer: call it before the other system is asked`
  throw new HighkiqError('NOT_DEFERRED', message)
}

/** Ends rows whose deadline is over. */
export class OverdueRows {
  readonly #app: Pick<Engine, 'store' | 'now' | 'report'>
  readonly #rows: ItemRunner

  constructor(app: Pick<Engine, 'store' | 'now' | 'report'>) {
    this.#app = app
    this.#rows = new ItemRunner(app.report, (jid) => ({ jid, during: 'ending a deferred row' }))
  }

  /** Ends at most about ROWS_AT_ONCE rows. Resolves with whether there may be more. */
  async endSome(): Promise<boolean> {
    const { store } = this.#app
    const now = this.#app.now()
    const messages = [{ at: now, code: TIMEOUT, params: {} }]
    const limit = ROWS_AT_ONCE + this.#rows.pausing
    const overdue = await store.tasks.overdue(now, limit)
    for (const jid of overdue) {
      const end = { jid, status: 'error', code: TIMEOUT, messages, isOverdue: true } as const
      await this.#rows.run(jid, () => store.tasks.endDeferred(end, now))
    }
    return overdue.length === limit
  }
}
