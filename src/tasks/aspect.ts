/** What happens to a task's event when something happens to its job. */

import type { Job } from '../client/job.ts'
import type { JobContext, TaskOfJob } from '../job/context.ts'
import { Kill } from '../job/errors.ts'
import { type Payload, splitTaskJid } from '../job/payload.ts'
import { resultText } from '../job/result.ts'
import type { EventEffect, Message } from '../store/contract.ts'
import type { Aspect, Outcome } from '../worker/aspect.ts'
import { rowAdder } from './create.ts'
import { checkPage } from './export-page.ts'
import { insist } from './insist.ts'
import { metaOf } from './meta.ts'
import { partsOf } from './parts.ts'
import { asRows, type TaskHost } from './rows.ts'
import { broke, refused, said } from './words.ts'

/** The first ones are kept whole; see JobContext.message. */
const FIRST_MESSAGES = 10

type Change = Pick<EventEffect, 'status' | 'place' | 'code' | 'messages' | 'result'>

export function trackedTasks(host: TaskHost): Aspect {
  return {
    taskOf: ({ hk_task, jid }) => (hk_task === undefined ? undefined : new RowOfTask(host, jid)),

    returned(payload, result) {
      if (payload.hk_part === undefined || payload.hk_task === undefined) return undefined
      return keepPage(host, payload, result)
    },

    effects(payload, outcome, at, ctx) {
      if (payload.hk_task === undefined) return undefined
      const change = changeOf(outcome, at)
      if (!change) return undefined
      const messages = [...messagesOf(ctx), ...(change.messages ?? [])]
      return [
        {
          kind: 'event',
          jid: payload.jid,
          run: payload.hk_run ?? 1,
          attempt: attemptOf(payload) - (betweenAttempts(outcome) ? 1 : 0),
          at,
          ...change,
          ...(messages.length > 0 ? { messages } : {}),
        },
      ]
    },
  }
}

/**
 * A page of an export: its rows are kept before it is done, and a page that runs again takes its own place. Where, the
 * task itself says, and of the attempt that the row is in alone: a payload is written by anybody who can push.
 */
async function keepPage({ store }: TaskHost, payload: Payload, rows: unknown): Promise<unknown> {
  const { id, index } = splitTaskJid(payload.jid)
  const task = await insist(() => store().task(id))
  // Deleted meanwhile, or it never asked for rows.
  const about = task && metaOf(task).export
  if (!about) return undefined
  if (!Array.isArray(rows)) throw new Kill(`a page of an export must return an array of rows, not ${typeof rows}`)
  const { problem, missing } = checkPage(rows, about.columns)
  if (problem) throw new Kill(problem)
  await partsOf(store, id, about.dir).put(index, rows, { run: payload.hk_run ?? 1, attempt: attemptOf(payload) })
  return { rows: rows.length, ...(missing ? { missing } : {}) }
}

/** Which attempt of its row runs a job with this payload. */
function attemptOf({ hk_attempt = 0 }: Payload): number {
  return hk_attempt + 1
}

/** What a running row knows of its task. */
class RowOfTask implements TaskOfJob {
  readonly id: string
  readonly index: number
  readonly #host: TaskHost
  #adder: ReturnType<typeof rowAdder> | undefined

  constructor(host: TaskHost, jid: string) {
    const { id, index } = splitTaskJid(jid)
    this.id = id
    this.index = index
    this.#host = host
  }

  add(job: { readonly name: string }, rows: Iterable<unknown[]> | AsyncIterable<unknown[]>): Promise<number> {
    this.#adder ??= rowAdder(this.#host, this.id, this.index)
    return this.#adder(job as unknown as Job<never[]>, asRows(rows))
  }
}

/** Whether the job moved without an attempt of its own. */
function betweenAttempts(outcome: Outcome): boolean {
  if (outcome.kind === 'cancelled') return !outcome.begun
  return BETWEEN.has(outcome.kind)
}

const BETWEEN = new Set<Outcome['kind']>(['promoted', 'stopped', 'deleted', 'killed', 'requeued', 'expired'])

function changeOf(outcome: Outcome, at: number): Change | undefined {
  switch (outcome.kind) {
    case 'started':
      return { status: 'working', place: 'keep' }
    case 'done':
      return { status: 'finished', place: 'leave', ...resultOf(outcome.result, at) }
    case 'business-failure':
      return { status: 'failed', place: 'leave', code: codeOf(outcome.error), messages: [refused(at, outcome.error)] }
    case 'retry': {
      const retry = { at, code: 'retry', params: { count: outcome.count + 1, at: Math.round(outcome.at) } }
      return { status: 'enqueued', place: 'leave', messages: [broke(at, outcome.error), retry] }
    }
    case 'dead':
      return { status: 'error', place: 'leave', code: codeOf(outcome.error), messages: [broke(at, outcome.error)] }
    case 'discarded': {
      const { params } = broke(at, outcome.error)
      return { status: 'cancelled', place: 'leave', code: 'discarded', messages: [{ at, code: 'discarded', params }] }
    }
    case 'snoozed':
      return { status: 'enqueued', place: 'leave' }
    case 'released':
      return { status: 'enqueued', place: 'keep' }
    case 'paused':
    case 'interrupted':
      return { status: 'enqueued', place: 'keep', messages: [{ at, code: 'interrupted', params: {} }] }
    case 'restored':
      return {
        status: 'enqueued',
        place: 'keep',
        messages: [{ at, code: 'restored', params: { stalls: outcome.stalls } }],
      }
    case 'stalled-out':
      return {
        status: 'error',
        place: 'leave',
        code: 'stalled',
        messages: [{ at, code: 'stalled', params: { stalls: outcome.stalls } }],
      }
    case 'promoted':
      return { status: 'enqueued', place: 'enter' }
    case 'stopped':
    case 'deleted':
    case 'cancelled':
    case 'expired': {
      const code = outcome.kind
      return { status: 'cancelled', place: 'leave', code, messages: [{ at, code, params: {} }] }
    }
    case 'killed':
      return { status: 'error', place: 'leave', code: 'killed', messages: [{ at, code: 'killed', params: {} }] }
    case 'requeued':
      return { status: 'enqueued', place: 'enter', messages: [{ at, code: 'requeued', params: {} }] }
    case 'untouched':
      return undefined
  }
}

function messagesOf(ctx: JobContext | undefined): Message[] {
  if (!ctx) return []
  const messages = ctx.messages.map(({ at, text }) => said(at, text))
  const first = messages[FIRST_MESSAGES]
  if (ctx.droppedMessages > 0 && first) {
    messages.splice(FIRST_MESSAGES, 0, { at: first.at, code: 'dropped', params: { messages: ctx.droppedMessages } })
  }
  return messages
}

function codeOf(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  if (typeof code === 'string' && code !== '') return code
  return typeof name === 'string' && name !== 'BusinessFailure' ? name : undefined
}

function resultOf(result: unknown, at: number): Pick<Change, 'result' | 'messages'> {
  const { text, problem } = resultText(result)
  if (problem !== undefined) return { messages: [said(at, problem)] }
  return text === undefined ? {} : { result: text }
}
