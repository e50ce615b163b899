/** Cancels one job, wherever it is. */

import type { AppPort } from '../app/port.ts'
import { cancelFlow } from '../batches/cancel.ts'
import { flowOf } from '../batches/jids.ts'
import { runningInOthers } from '../inspect/process.ts'
import { inQueues, limitedSets, needleOf, type ReadPage, walk } from '../inspect/walk.ts'
import { invalidOption } from '../job/errors.ts'
import { checkOptions, checkText } from '../job/options.ts'
import { type Payload, readPayload, splitTaskJid } from '../job/payload.ts'
import { jidsOf } from '../job/rows.ts'
import { type Effect, OPEN_STATUSES, type SwapAnswer } from '../store/contract.ts'
import type { Plugin } from '../worker/plugin.ts'

/**
 * `removed`: the job was waiting and is deleted; of a parent in a flow, its children are cancelled, too. `signalled`: it is
 * running, or was just fetched, and its worker aborts it. `requested`: the cancellation is recorded, but the job was not found
 * in time, is in the backlog of its task, or may be in a Ruby process that has not shown it yet; no Highkiq worker runs it to
 * its end. `not-found`: there is no such job, or it has ended.
 */
export type CancelAnswer = 'removed' | 'signalled' | 'requested' | 'not-found'

export interface CancelOptions {
  /** The queue that it is in, if it is in one: the others need not be searched. */
  queue?: string
  /**
   * Seconds to search for the job, however many jobs there are; 0 only records the cancellation. Default: 10 seconds,
   * and at most the newest 100,000 jobs of each queue and 100,000 of each set.
   */
  budget?: number
}

const BUDGET_SECONDS = 10
/** Without a `budget` the search of a queue or a set stops here: any worker that fetches the job drops it. */
const MAX_SCANNED = 100_000
const PAGE = 100
const CANCELLED = { kind: 'cancelled', begun: false } as const

/** Cancels a job. @throws INVALID_OPTION */
export async function cancelJob(app: AppPort, jid: string, options: CancelOptions = {}): Promise<CancelAnswer> {
  const limits = limitsOf([jid], options)
  const [version] = await app.store.cancellations.request(jid, app.now())
  return cancelRequested(app, jid, limits, version as number)
}

/** @throws INVALID_OPTION */
export function limitsOf(jids: readonly string[], options: CancelOptions = {}): Limits {
  checkOptions('hq.cancel', options, { queue: 'text', budget: 'secondsOrZero' })
  for (const jid of jids) {
    checkText('hq.cancel: the jid', jid)
    if (jid === '') throw invalidOption('hq.cancel: the jid must be the one that the push returned (got "")')
  }
  const { queue, budget = BUDGET_SECONDS } = options
  const most = options.budget === undefined ? MAX_SCANNED : Number.POSITIVE_INFINITY
  return { queue, end: performance.now() + budget * 1000, most }
}

/**
 * Cancels a job whose cancellation is requested, so that no worker starts it any more. It searches twice in the direction in
 * which jobs move: a job that ran during the first search can only have moved on, to a set, a queue or the next worker. If there
 * is no such job any more, it withdraws the request.
 * @param version that the request has returned
 */
export async function cancelRequested(
  app: AppPort,
  jid: string,
  limits: Limits,
  version: number,
): Promise<CancelAnswer> {
  const { store, now } = app
  const flow = flowOf(jid)
  if (isRow(jid) && ((flow !== undefined && (await cancelFlow(app, flow))) || (await cancelParked(app, jid)))) {
    await store.cancellations.withdraw(jid, now())
    return 'removed'
  }
  const search = new Search(app, jid, limits)
  const found =
    (await search.inSets()) ??
    (await search.inQueues()) ??
    (await search.amongFetched()) ??
    (await search.inSets()) ??
    (await search.inQueues()) ??
    (await search.amongFetched())
  const removed = async () => {
    if (search.met) await app.keepEnd(search.met, CANCELLED)
    return 'removed' as const
  }
  if (found) return found === 'removed' ? removed() : found
  // A row in the backlog of its task is dropped when it would start.
  const event = isRow(jid) ? await store.tasks.event(jid) : null
  if (event && OPEN_STATUSES.includes(event.status)) return 'requested'
  // A worker may have dropped or aborted the job during the search.
  const state = await store.cancellations.withdraw(jid, now(), version)
  if (state === 'dropped') return removed()
  if (state === 'aborted') return 'signalled'
  if (!search.metOthers) return 'not-found'
  // A Sidekiq process shows its jobs only with its next heartbeat. The request must not last: a later push may have this jid.
  await store.cancellations.request(jid, now(), true)
  return 'requested'
}

export interface Limits {
  /** The only queue to search. */
  queue: string | undefined
  /** The end of the search, in milliseconds of the monotonic clock. */
  end: number
  /** The most jobs to look at in one queue or set. */
  most: number
}

/** Removes jobs from where they wait. */
type Remove<Item> = (items: (Item & { payload: Payload })[]) => Promise<SwapAnswer[]>

class Search {
  readonly #app: AppPort
  readonly #jid: string
  readonly #limits: Limits
  /** Whether Ruby processes were alive when their running jobs were searched. */
  metOthers = false
  /** The job, if it was found where it waits. */
  met: Payload | undefined

  constructor(app: AppPort, jid: string, limits: Limits) {
    this.#app = app
    this.#jid = jid
    this.#limits = limits
  }

  async inSets(): Promise<CancelAnswer | undefined> {
    const { store, now } = this.#app
    for (const set of ['schedule', 'retry', ...(await limitedSets(store))] as const) {
      const found = await this.#through(
        (needle, after) => store.search.scanSet(set, needle, { after, limit: PAGE }),
        (entries) => {
          const swaps = entries.map(({ payload, text, score }) => ({ text, score, to: null, ...this.#change(payload) }))
          return store.jobSets.swap(set, swaps, now())
        },
      )
      if (found) return found
    }
    return undefined
  }

  async inQueues(): Promise<CancelAnswer | undefined> {
    const { store, now } = this.#app
    if (this.#isLate) return 'requested'
    const pages = inQueues(store, needleOf(this.#jid), await this.#queues())
    for await (const { queue, items, scannedSoFar } of pages) {
      const found = await this.#remove(items, (jobs) => {
        const pulls = jobs.map(({ payload, text, at }) => ({ text, at, to: null, ...this.#change(payload) }))
        return store.search.pull(queue, pulls, now())
      })
      if (found) return found
      if (this.#isLate || scannedSoFar >= this.#limits.most) return 'requested'
    }
    return undefined
  }

  /** Searches the fetched jobs of our workers, and the running jobs that other programs show. */
  async amongFetched(): Promise<CancelAnswer | undefined> {
    const { store } = this.#app
    const found = await this.#through((_, after) => store.workers.fetched({ after, limit: PAGE }))
    if (found) return found
    const others = await runningInOthers(store)
    this.metOthers = others !== null
    return others && this.#meant(others).length > 0 ? 'signalled' : undefined
  }

  /** Reads pages until it finds the job. Without `remove` the job runs, and its worker learns of the cancellation. */
  async #through<Item extends { text: string }>(
    read: ReadPage<Item>,
    remove?: Remove<Item>,
  ): Promise<CancelAnswer | undefined> {
    if (this.#isLate) return 'requested'
    let scannedSoFar = 0
    for await (const { items, next, scanned = 0 } of walk(this.#jid, read)) {
      scannedSoFar += scanned
      const found = await this.#remove(items, remove)
      if (found) return found
      if (next !== null && (this.#isLate || scannedSoFar >= this.#limits.most)) return 'requested'
    }
    return undefined
  }

  get #isLate(): boolean {
    return performance.now() >= this.#limits.end
  }

  /** Removes those of the items that are the job. Undefined: there are none, or they have left this place. */
  async #remove<Item extends { text: string }>(
    items: readonly Item[],
    remove?: Remove<Item>,
  ): Promise<CancelAnswer | undefined> {
    const meant = this.#meant(items)
    if (meant.length === 0) return undefined
    if (!remove) return 'signalled'
    const answers = await remove(meant)
    if (answers.includes('ok')) return 'removed'
    return answers.includes('error') ? 'requested' : undefined
  }

  /** Returns the items that are the job: other jobs may have its id among their arguments. */
  #meant<Item extends { text: string }>(items: readonly Item[]): (Item & { payload: Payload })[] {
    return items.flatMap((item) => {
      const payload = readPayload(item.text)
      // A row of a job with several rows is dropped when the job starts: the other rows stay.
      return payload?.jid === this.#jid && !payload.hk_rows ? [{ ...item, payload }] : []
    })
  }

  #change(payload: Payload): { effects: Effect[] | undefined } {
    this.met = payload
    return { effects: this.#app.effects(payload, CANCELLED) }
  }

  /** Lists the queues to search, that of the row's task first. */
  async #queues(): Promise<string[]> {
    const { queue } = this.#limits
    if (queue !== undefined) return [queue]
    const { store } = this.#app
    const names = (await store.jobs.queues()).map(({ name }) => name)
    const task = isRow(this.#jid) ? await store.tasks.find(splitTaskJid(this.#jid).id) : null
    return task ? [task.queue, ...names.filter((name) => name !== task.queue)] : names
  }
}

export function isRow(jid: string): boolean {
  return /^[0-9a-f]{24}$/.test(jid)
}

/** Cancels a row that waits for its end from outside, without a job. Returns false when it does not. */
async function cancelParked({ store, now }: AppPort, jid: string): Promise<boolean> {
  const event = await store.tasks.event(jid)
  if (event?.deferredUntil === undefined) return false
  const at = now()
  const messages = [{ at, code: 'cancelled', params: {} }]
  const { answer } = await store.tasks.endDeferred({ jid, status: 'cancelled', code: 'cancelled', messages }, at)
  return answer === 'ok'
}

/** Withdraws the cancellation of a job in the step that deletes the job. */
export const cancelling: Plugin = {
  concerns: ['cancelled'],
  effects(payload, outcome, now) {
    if (outcome.kind !== 'cancelled') return undefined
    const [at, { begun }] = [now(), outcome]
    return jidsOf(payload).map((jid) => ({ kind: 'clear-cancellation', jid, at, dropped: true, begun }))
  },
}
