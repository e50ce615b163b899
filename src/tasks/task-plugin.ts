/** Changes the event of a row when something happens to its job. */

import type { AppPort } from '../app/port.ts'
import type { Job } from '../client/job.ts'
import type { DeferOptions, JobContext, TaskOfJob } from '../job/context.ts'
import { classOf, invalidOption, Kill } from '../job/errors.ts'
import { FIRST_MESSAGES } from '../job/messages.ts'
import { meantBy } from '../job/options.ts'
import { type Payload, splitTaskJid } from '../job/payload.ts'
import { resultText } from '../job/result.ts'
import { jidsOf, resultOfRow } from '../job/rows.ts'
import type { EventEffect, Message } from '../store/contract.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'
import { areAlike } from './columns.ts'
import { rowProducer } from './create.ts'
import { deferRow } from './deferred.ts'
import { appMessage, errorMessage, rowCode } from './messages.ts'
import { metaOf } from './meta.ts'
import { partsOf } from './parts.ts'
import { asRows, retryTransient } from './rows.ts'

type Change = Pick<EventEffect, 'status' | 'window' | 'code' | 'messages' | 'result'>

export function trackedTasks(app: AppPort): Plugin {
  return {
    concerns: ['hk_task'],

    taskOf: (payload) => new RowsOfTask(app, payload),

    returned: (payload, result) => (payload.hk_part === undefined ? undefined : keepPage(app, payload, result)),

    effects(payload, outcome, now, ctx) {
      const at = now()
      const attempt = attemptOf(payload) - (betweenAttempts(outcome) ? 1 : 0)
      const effects: EventEffect[] = []
      const jids = payload.hk_rows ? jidsOf(payload) : [payload.jid]
      for (let row = 0; row < jids.length; row++) {
        const change = changeOf(ofRow(payload, outcome, row), at)
        if (!change) return undefined
        const { status, window, code, result } = change
        const said = messagesOf(ctx, row)
        const messages = change.messages ? said.concat(change.messages) : said
        const effect: EventEffect = {
          kind: 'event',
          jid: jids[row] as string,
          run: payload.hk_run ?? 1,
          attempt,
          at,
          status,
          // Of several rows only the first one counts in the window.
          window: row > 0 && window === 'enter' ? 'keep' : window,
        }
        if (code !== undefined) effect.code = rowCode(code)
        if (result !== undefined) effect.result = result
        if (messages.length > 0) effect.messages = messages
        effects.push(effect)
      }
      return effects
    },
  }
}

/**
 * Stores the rows of an export's page before its job is done; a repeated page replaces the earlier one. The task says
 * where they go, and only the row's present attempt is accepted, because anybody who can push can write a payload.
 */
async function keepPage({ store }: AppPort, payload: Payload, rows: unknown): Promise<unknown> {
  const { id, index } = splitTaskJid(payload.jid)
  const task = await retryTransient(() => store.tasks.find(id))
  // The task was deleted meanwhile, or it is not an export.
  const about = task && metaOf(task).export
  if (!about) return undefined
  if (!Array.isArray(rows)) throw new Kill(`a page of an export must return an array of rows, not ${typeof rows}`)
  const { problem, missing } = checkPage(rows, about.columns)
  if (problem) throw new Kill(problem)
  await partsOf(store, id, about.dir).put(index, rows, { run: payload.hk_run ?? 1, attempt: attemptOf(payload) })
  return { rows: rows.length, ...(missing ? { missing } : {}) }
}

/**
 * Checks a page when its job returns it, so that faults do not first show at the download.
 * @returns `problem`: why no file can be made of it; `missing`: columns that no row of this page has
 */
function checkPage(
  rows: readonly unknown[],
  columns: readonly string[] | undefined,
): { problem?: string; missing?: string[] } {
  const seen = new Set<string>()
  for (const [i, row] of rows.entries()) {
    const which = `row ${i + 1} of the page`
    if (typeof row !== 'object' || row === null) return { problem: `${which} is neither an object nor a list of cells` }
    if (!Array.isArray(row)) {
      for (const name of Object.keys(row)) seen.add(name)
    } else if (!columns) {
      return { problem: `${which} is a list: name its cells in the option columns of tasks.export` }
    } else if (row.length > columns.length) {
      return { problem: `${which} has ${row.length} cells, and the export ${columns.length} columns` }
    }
  }
  // Lists have no names.
  const missing = seen.size === 0 ? [] : (columns ?? []).filter((name) => !seen.has(name))
  const others = [...seen].filter((name) => !columns?.includes(name))
  for (const name of missing) {
    const meant = others.find((other) => areAlike(other, name)) ?? meantBy(name, others)
    if (meant) return { problem: `no row has ${JSON.stringify(name)}, a column of the export; did you mean ${meant}?` }
  }
  return missing.length > 0 ? { missing } : {}
}

/** Returns the attempt that runs a job with this payload. */
function attemptOf({ hk_attempt = 0 }: Payload): number {
  return hk_attempt + 1
}

/** Returns the part of a job's outcome that belongs to one of its rows. */
function ofRow(payload: Payload, outcome: Outcome, row: number): Outcome {
  if (outcome.kind !== 'done' || !payload.hk_list) return outcome
  return { ...outcome, result: resultOfRow(payload, outcome.result, row) }
}

/** The `ctx.task` of a handler. */
class RowsOfTask implements TaskOfJob {
  readonly id: string
  readonly indexes: readonly number[]
  readonly #app: AppPort
  readonly #payload: Payload
  readonly #producers: ReturnType<typeof rowProducer>[] = []

  constructor(app: AppPort, payload: Payload) {
    const { jid, hk_rows } = payload
    const { id, index } = splitTaskJid(jid)
    this.id = id
    this.indexes = hk_rows ?? [index]
    this.#app = app
    this.#payload = payload
  }

  get index(): number {
    return this.indexes[0] as number
  }

  async add(
    job: { readonly name: string },
    rows: Iterable<unknown[]> | AsyncIterable<unknown[]>,
    of = this.indexes.length === 1 ? 0 : undefined,
  ): Promise<number> {
    const index = of === undefined ? undefined : this.indexes[of]
    if (of === undefined || index === undefined) {
      const message = `ctx.task.add: the job has ${this.indexes.length} rows: give the number of the one that adds, from 0: add(job, rows, 0)`
      throw invalidOption(message)
    }
    this.#producers[of] ??= rowProducer(this.#app, this.id, { index, run: this.#payload.hk_run ?? 1 })
    return this.#producers[of](job as unknown as Job<never[]>, asRows(rows))
  }

  defer(options?: DeferOptions): Promise<boolean> {
    return deferRow(this.#app, this.#payload, options)
  }
}

/** Returns whether the job moved without an attempt. */
function betweenAttempts(outcome: Outcome): boolean {
  if (outcome.kind === 'cancelled') return !outcome.begun
  if (outcome.kind === 'split') return !('error' in outcome)
  return BETWEEN.has(outcome.kind)
}

const BETWEEN = new Set<Outcome['kind']>(['promoted', 'filtered', 'deleted', 'killed', 'added-to-queue', 'expired'])

/**
 * Returns how an outcome changes the row; undefined: not at all.
 *
 * Outcome `dead`: the job failed for good, by its last error or because it threw a `Kill`. The row has that error as its code.
 * Outcome `killed`: a person killed a job that waits. Code `dead` comes from task maintenance, for a job that it finds in the
 * dead set while its row is open. A process killed by `kill -9` gives the outcomes `rescued` and `crashed-out`.
 */
function changeOf(outcome: Outcome, at: number): Change | undefined {
  const noted = (code: string, params: Message['params'] = {}) => ({ messages: [{ at, code, params }] })
  switch (outcome.kind) {
    case 'started':
      return { status: 'working', window: 'keep' }
    case 'done':
      return { status: 'finished', window: 'leave', ...resultOf(outcome.result, at) }
    case 'deferred':
      return { status: 'working', window: 'park' }
    case 'business-failure':
    case 'dead': {
      const status = outcome.kind === 'dead' ? 'error' : 'failed'
      const messages = [errorMessage(at, status, outcome.error)]
      return { status, window: 'leave', code: rowCodeOf(outcome.error), messages }
    }
    case 'retry': {
      const retry = { at, code: 'retry', params: { count: outcome.count + 1, at: Math.round(outcome.at) } }
      return { status: 'enqueued', window: 'leave', messages: [errorMessage(at, 'error', outcome.error), retry] }
    }
    case 'discarded': {
      const messages = [errorMessage(at, 'discarded', outcome.error)]
      return { status: 'cancelled', window: 'leave', code: 'discarded', messages }
    }
    case 'snoozed':
      return { status: 'enqueued', window: 'leave' }
    case 'released':
      return { status: 'enqueued', window: 'keep' }
    case 'paused':
    case 'interrupted':
      return { status: 'enqueued', window: 'keep', ...noted('interrupted') }
    case 'split': {
      const messages = 'error' in outcome ? [errorMessage(at, 'split', outcome.error)] : []
      return { status: 'enqueued', window: 'enter', messages }
    }
    case 'rescued':
      return { status: 'enqueued', window: 'keep', ...noted('rescued', { crashes: outcome.crashes }) }
    case 'crashed-out':
      return { status: 'error', window: 'leave', code: 'crashed', ...noted('crashed', { crashes: outcome.crashes }) }
    case 'promoted':
      return { status: 'enqueued', window: 'enter' }
    case 'filtered':
    case 'deleted':
    case 'cancelled':
    case 'expired':
      return { status: 'cancelled', window: 'leave', code: outcome.kind, ...noted(outcome.kind) }
    case 'killed':
      return { status: 'error', window: 'leave', code: 'killed', ...noted('killed') }
    case 'added-to-queue':
      return { status: 'enqueued', window: 'enter', ...noted('added-to-queue') }
    case 'not-started':
    case 'changed':
      return undefined
  }
}

function messagesOf(ctx: JobContext | undefined, row: number): Message[] {
  if (!ctx?.hasMessages) return []
  const { messages: all, dropped } = ctx.messagesOfRow(row)
  const messages = all.map(({ at, text }) => appMessage(at, text))
  const first = messages[FIRST_MESSAGES]
  if (dropped > 0 && first) {
    messages.splice(FIRST_MESSAGES, 0, { at: first.at, code: 'dropped', params: { messages: dropped } })
  }
  return messages
}

/**
 * Returns the error's own code, or else the name of its class; a BusinessFailure without a code has none. A number counts as
 * a code only of a thrown value that is no Error: a DOMException has a number that says less than its name.
 */
function rowCodeOf(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  if (typeof code === 'string' && code !== '') return code
  if (!(error instanceof Error) && typeof code === 'number') return String(code)
  if (!(error instanceof Error)) return typeof name === 'string' && name !== '' ? name : undefined
  const own = classOf(error)
  return own === 'BusinessFailure' ? undefined : own
}

function resultOf(result: unknown, at: number): Pick<Change, 'result' | 'messages'> {
  if (result === undefined) return {}
  const { text, problem } = resultText(result)
  if (problem !== undefined) return { messages: [appMessage(at, problem)] }
  return text === undefined ? {} : { result: text }
}
