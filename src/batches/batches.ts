/** `hq.batches`: finds and cancels batches, and reads their members. */

import type { AppPort } from '../app/port.ts'
import type { SearchView } from '../inspect/filter.ts'
import { containsText, searchPages } from '../inspect/search-pages.ts'
import { creationCursor, creationOf } from '../inspect/walk.ts'
import type { BatchAccess, ChildResult } from '../job/context.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { checkOptions, checkText, type OptionRule } from '../job/options.ts'
import {
  type BatchCreation,
  type BatchMember,
  type BatchReader,
  type BatchRecord,
  type ChildFailure,
  isPlaceholder,
} from '../store/contract.ts'
import { cancelBatch } from './cancel.ts'
import { addToBatch, type OpenBatch, unknownBatch } from './create.ts'
import { batchJid, innerBatch } from './jids.ts'
import { CALLBACKS } from './options.ts'

/**
 * `running`: a job has not ended. `succeeded`: all have succeeded. `dead`: all have ended, and those in the dead set may be
 * retried by hand. `failed`: all have ended, some without success.
 */
export const BATCH_STATES = ['running', 'succeeded', 'dead', 'failed'] as const
export type BatchState = (typeof BATCH_STATES)[number]

/** A batch. Its members are jobs and nested batches. */
export interface Batch
  extends Pick<
    BatchRecord,
    'bid' | 'parent' | 'total' | 'pending' | 'retrying' | 'dead' | 'failed' | 'succeeded' | 'cancelling'
  > {
  state: BatchState
  description: string | null
  /** The option `data`; null without it. */
  data: unknown
  /** The job of a flow that waits for the members; null when none waits. */
  waiting: { jid: string; queue: string; onChildFailure: ChildFailure } | null
  /**
   * The callbacks. `pushedAt` is null before the push; after it `hq.find` finds the job by its `jid` until it has ended. It
   * stays null when the callback is dropped, because the batch around this one was being cancelled.
   */
  callbacks: { when: (typeof CALLBACKS)[number]; job: string; jid: string; pushedAt: Date | null }[]
  createdAt: Date
  /** When a member changed last. */
  progressAt: Date
  /** When every member had ended for the first time. */
  completedAt: Date | null
  succeededAt: Date | null
  /** When the first job died. */
  diedAt: Date | null
}

export interface BatchMeta {
  description?: string
  data?: unknown
  /** The names of its callbacks. */
  callbacks?: Partial<Record<(typeof CALLBACKS)[number], string>>
  /** The children of a flow; `bid` is the batch of their own children. */
  children?: { jid: string; job: string; bid?: string }[]
}

const PAGE = 100

export interface BatchPageOptions {
  state?: BatchState
  /** Only batches and flows whose description contains this text, ignoring case. A flow has the class of its job. */
  search?: string
  cursor?: string | undefined
  limit?: number
}

/** A member as people read it. */
export interface MemberSummary extends BatchMember {
  /** The bid of a nested batch, or of the batch in which the job waits as the parent in a flow; else null. */
  batch: string | null
}

const CURSOR: OptionRule = [(text) => creationOf(String(text)) !== undefined, 'the `next` of the page before']

export class Batches {
  readonly #app: AppPort

  constructor(app: AppPort) {
    this.#app = app
  }

  /** Returns a batch; null when there is none, or it is kept no longer. */
  async get(bid: string): Promise<Batch | null> {
    checkText('hq.batches.get: a bid', bid)
    const record = await readerOf(this.#app).find(bid)
    return record && batchOf(record)
  }

  /** Returns all batches, newest first. */
  async *list(): AsyncGenerator<Batch> {
    let cursor: string | undefined
    do {
      const { items, next } = await this.page({ cursor, limit: PAGE })
      yield* items
      cursor = next ?? undefined
    } while (cursor !== undefined)
  }

  /**
   * Returns a page of batches, newest first. `next` is the `cursor` of the next page. With `state` or `search` it reads at most
   * 2,000 batches, so a page may have fewer than `limit`, or none, although `next` is set. @throws INVALID_OPTION
   */
  async page(
    options: BatchPageOptions = {},
    { shown = (text) => text }: SearchView = {},
  ): Promise<{ items: Batch[]; next: string | null }> {
    checkOptions('hq.batches.page', options, { state: BATCH_STATES, search: 'text', cursor: CURSOR, limit: 'count' })
    const { state, search, cursor, limit = 25 } = options
    const position = cursor === undefined ? undefined : creationOf(cursor)
    const isWanted = (record: BatchRecord) => {
      if (state !== undefined && stateOf(record) !== state) return false
      if (search === undefined) return true
      const { description } = metaOf(record)
      return description !== undefined && containsText(shown(description), search)
    }
    const { items, next } = await searchPages<BatchRecord, BatchCreation>({
      limit,
      before: position && { createdAt: position.createdAt, bid: position.id },
      isWanted: state === undefined && search === undefined ? undefined : isWanted,
      read: (page) => readerOf(this.#app).page(page),
    })
    return { items: items.map(batchOf), next: next && creationCursor({ createdAt: next.createdAt, id: next.bid }) }
  }

  /** Returns the members that have not succeeded or failed: jids of jobs, and bids of nested batches, in any order. */
  async *members(bid: string): AsyncGenerator<BatchMember> {
    checkText('hq.batches.members: a bid', bid)
    const seen = new Set<string>()
    let after: string | undefined
    do {
      const { items, next } = await readerOf(this.#app).members(bid, { after, limit: PAGE })
      for (const member of items) {
        if (seen.has(member.id) || isPlaceholder(member.id)) continue
        seen.add(member.id)
        yield member
      }
      after = next ?? undefined
    } while (after !== undefined)
  }

  /** Returns a page of `members`, each with its batch. `next` is the `cursor` of the next page. @throws UNKNOWN_BATCH, INVALID_OPTION */
  async memberPage(
    bid: string,
    options: { cursor?: string | undefined; limit?: number } = {},
  ): Promise<{ items: MemberSummary[]; next: string | null }> {
    checkText('hq.batches.memberPage: a bid', bid)
    const prefix = `${bid} `
    const read = (cursor: unknown) => Buffer.from(String(cursor), 'base64url').toString()
    const isOwn: OptionRule = [
      (cursor) => read(cursor).startsWith(prefix),
      'the `next` of the page before, of this batch',
    ]
    checkOptions('hq.batches.memberPage', options, { cursor: isOwn, limit: 'count' })
    const { cursor, limit = 25 } = options
    const after = cursor === undefined ? undefined : read(cursor).slice(prefix.length)
    const reader = readerOf(this.#app)
    if (!(await reader.find(bid))) throw unknownBatch(bid)
    const { items: all, next } = await reader.members(bid, { after, limit })
    const items = all.filter(({ id }) => !isPlaceholder(id))
    const summary = async (member: BatchMember) => {
      return { ...member, batch: (await innerBatch(reader, bid, member.id)) ?? null }
    }
    const cursorOf = (position: string) => Buffer.from(prefix + position).toString('base64url')
    return { items: await Promise.all(items.map(summary)), next: next === null ? null : cursorOf(next) }
  }

  /**
   * Adds the jobs that `work` pushes to a batch that has not ended.
   * @throws BATCH_ENDED, UNKNOWN_BATCH, and what `work` throws
   */
  add(bid: string, work: (batch: OpenBatch) => unknown): Promise<void> {
    checkText('hq.batches.add: a bid', bid)
    return addToBatch(this.#app, bid, work)
  }

  /**
   * Cancels the pending jobs of a batch, and of the batches in it. Waiting jobs are removed: within a call of a few seconds, or
   * soon after by a worker. The signal of running jobs is aborted. The batch takes no more jobs, and ends with its last job.
   * @returns how many jobs were pending; a nested batch that the call has not reached counts as one.
   * @throws UNKNOWN_BATCH; INVALID_OPTION in a test mode
   */
  async cancel(bid: string): Promise<number> {
    checkText('hq.batches.cancel: a bid', bid)
    if (this.#app.client.testing.current) {
      throw invalidOption(
        'hq.batches.cancel: fake and inline can cancel no batch: test it with a store, such as sqlite:',
      )
    }
    return cancelBatch(this.#app, bid)
  }
}

/** Returns the batches of the store, or those that a test keeps. */
function readerOf({ client, store }: AppPort): BatchReader {
  return client.testing.current?.batches ?? store.batches
}

export function batchOf(record: BatchRecord): Batch {
  const { bid, parent, job, total, pending, retrying, dead, failed, succeeded, cancelling } = record
  const { description = null, data = null, callbacks = {} } = metaOf(record)
  const date = (ms: number | null) => (ms === null ? null : new Date(ms))
  const pushed = { onSuccess: record.succeededAt, onComplete: record.completedAt, onDeath: record.diedAt }
  return {
    ...{ bid, parent, description, data, state: stateOf(record), cancelling },
    ...{ total, pending, retrying, dead, failed, succeeded },
    waiting: job && { jid: job.jid, queue: job.queue, onChildFailure: job.onChildFailure },
    callbacks: CALLBACKS.flatMap((when) => {
      const job = callbacks[when]
      if (job === undefined) return []
      return { when, job, jid: batchJid(bid, when), pushedAt: date(record[when] === null ? pushed[when] : null) }
    }),
    createdAt: new Date(record.createdAt),
    progressAt: new Date(record.progressAt),
    completedAt: date(record.completedAt),
    succeededAt: date(record.succeededAt),
    diedAt: date(record.diedAt),
  }
}

function metaOf({ meta }: BatchRecord): BatchMeta {
  return parseJson(meta) as BatchMeta
}

function stateOf({ pending, dead, failed }: BatchRecord): BatchState {
  if (pending > 0) return 'running'
  if (dead > 0) return 'dead'
  return failed > 0 ? 'failed' : 'succeeded'
}

/** Returns what the contexts of jobs use. */
export function accessTo(app: AppPort): BatchAccess {
  return {
    add: (bid, work) => addToBatch(app, bid, work),
    children: (bid) => childrenOf(app, bid),
  }
}

interface Note {
  result?: unknown
  problem?: string
  failed?: { message: string; class?: string; code?: string }
}

function unknownChildren(bid: string): HighkiqError {
  const message =
    'the results of the children of this job were deleted: a flow keeps them for its option keep (30 days by default) after the last child has ended. Push the flow again'
  return new HighkiqError('UNKNOWN_BATCH', message, { bid })
}

/** @throws UNKNOWN_BATCH */
async function childrenOf(app: AppPort, bid: string): Promise<ChildResult[]> {
  const reader = readerOf(app)
  const [record, notes] = await Promise.all([reader.find(bid), reader.notes(bid)])
  if (!record) throw unknownChildren(bid)
  const { children = [] } = metaOf(record)
  return children.map(({ jid, job }, i): ChildResult => {
    const text = notes[String(i)]
    if (text === undefined) return { job, jid, status: 'lost' }
    const { failed, result, problem } = parseJson(text) as Note
    if (failed) return { job, jid, status: 'failed', error: failed }
    if (problem !== undefined) return { job, jid, status: 'succeeded', error: { message: problem } }
    return result === undefined ? { job, jid, status: 'succeeded' } : { job, jid, status: 'succeeded', result }
  })
}
