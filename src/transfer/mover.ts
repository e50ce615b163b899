/**
 * Moves the jobs of a store to another one, while workers run on both sides. page.ts moves one page of them.
 *
 * A job stays in the source as long as something there must change with it: the record of its task, its batch, or the lock
 * of a cron entry. Workers of the source run these jobs; a running job stays until it has settled.
 */

import { randomUUID } from 'node:crypto'
import { isBatchJid } from '../batches/jids.ts'
import { limitedSets } from '../inspect/walk.ts'
import { HighkiqError } from '../job/errors.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import {
  type Entry,
  type SetName,
  type Store,
  TRANSFER_PAGE,
  type TransferPage,
  type TransferSource,
} from '../store/contract.ts'
import { movePage, undoPage } from './page.ts'

/** About the most characters of texts in a page. */
const PAGE_LENGTH = 1_000_000
const READ = 1000
const STORE_ID = 'store-id'

/** The jobs left in the source, by reason. */
export interface Left {
  /** Jobs that are with a worker. */
  running: number
  /** Jobs of tasks, with their rows that have no job yet or any more; jobs of batches, and of cron entries that do not overlap. */
  tasks: number
  batches: number
  crons: number
  /** Ids of ordered queues that wait or run. */
  ordered: number
  /** Other jobs that could not be taken: they moved meanwhile, or their text is not valid UTF-8. */
  others: number
  /** Dead jobs of tasks and batches, and ids in morgues. They stay. */
  ended: number
}

export const NOTHING_LEFT: Left = { running: 0, tasks: 0, batches: 0, crons: 0, ordered: 0, others: 0, ended: 0 }

/** Whether the source has nothing that a later pass may move, or that its workers still run. */
export function isDone({ moved, left: { ended: _, ...open } }: Pass): boolean {
  return moved === 0 && Object.values(open).every((n) => n === 0)
}

export interface Pass {
  moved: number
  left: Left
}

export interface MoverOptions {
  source: Store
  /** null: only for `undo`. */
  target: Store | null
  now?: () => number
  /** Called after each page, with the number of all jobs that moved. */
  onMoved?: (moved: number) => void
  /** Ends a pass after the page under way. */
  signal?: AbortSignal
}

/** Returns why a job must stay in the source, or undefined. */
function reasonOf(payload: Payload | undefined, set?: SetName): 'tasks' | 'batches' | 'crons' | undefined {
  if (!payload || set === 'finished') return undefined
  if (payload.bid !== undefined || payload.hk_children !== undefined || isBatchJid(payload.jid)) return 'batches'
  if (payload.hk_task !== undefined) return 'tasks'
  return payload.hk_lock === undefined || set === 'dead' ? undefined : 'crons'
}

export class StoreMover {
  readonly #options: MoverOptions
  readonly #source: Store
  #target: string | undefined
  #moved = 0

  constructor(options: MoverOptions) {
    this.#options = options
    this.#source = options.source
  }

  /** The number of jobs that moved since this mover was made. */
  get moved(): number {
    return this.#moved
  }

  /**
   * Checks that the stores differ, and that the source holds no page for another store. Pauses in the target what is paused
   * in the source, and finishes the page of an earlier mover. Call it first, and after each error.
   */
  async begin(): Promise<void> {
    const [from, to] = [await idOf(this.#source), await idOf(this.#other)]
    if (from === to) {
      throw new HighkiqError(
        'INVALID_OPTION',
        `${this.#source.url} and ${this.#other.url} are the same store, or one is a copy of the other: name two stores`,
      )
    }
    this.#target = JSON.stringify([to, this.#other.url])
    for (const queue of await this.#source.jobs.pausedQueues()) await this.#other.jobs.pauseQueue(queue, true)
    await this.#finishHeld()
  }

  /** Moves the jobs that may move now. */
  async pass(): Promise<Pass> {
    const before = this.#moved
    const left: Left = { ...NOTHING_LEFT }
    for (const { name } of await this.#source.jobs.queues()) await this.#moveQueue(name, left)
    for (const set of await setsOf(this.#source)) await this.#moveSet(set, left)
    await countRest(this.#source, left)
    return { moved: this.#moved - before, left }
  }

  /** Counts the jobs that `begin` and a pass would move, and changes nothing. */
  async count(): Promise<Pass> {
    const left: Left = { ...NOTHING_LEFT }
    let moved = (await this.#source.transfers.held())?.jobs.length ?? 0
    const add = (text: string, set?: SetName) => {
      const reason = reasonOf(readPayload(text), set)
      if (reason) left[set === 'dead' ? 'ended' : reason]++
      else moved++
    }
    const { search, jobs, jobSets } = this.#source
    for (const { name } of await jobs.queues()) {
      for (let after: string | null | undefined; after !== null; ) {
        const page = await search.scanQueue(name, '', { after, limit: READ })
        for (const { text } of page.items) add(text)
        after = page.next
      }
    }
    for (const set of await setsOf(this.#source)) {
      for (let after: Entry | undefined; ; ) {
        const page = await jobSets.page(set, { ...(after ? { after } : {}), limit: READ })
        for (const { text } of page) add(text, set)
        after = page.at(-1)
        if (!after) break
      }
    }
    await countRest(this.#source, left)
    return { moved, left }
  }

  /** Moves the jobs of a held page back, and returns how many; null: the source holds no page. */
  async undo(): Promise<number | null> {
    const page = await this.#source.transfers.held()
    if (!page) return null
    const { target } = this.#options
    if (target) await this.#checkTarget(page)
    return undoPage(this.#source, target, page, this.#now())
  }

  async #moveQueue(queue: string, left: Left): Promise<void> {
    for (let offset = 0; !this.#isEnding; ) {
      const read = await this.#source.jobs.peek(queue, offset, TRANSFER_PAGE)
      if (read.length === 0) return
      const some = read.slice(0, pageLength(read))
      const texts = some.filter((text) => {
        const reason = reasonOf(readPayload(text))
        if (reason) left[reason]++
        return !reason
      })
      offset += some.length - texts.length
      // What cannot be taken must not stop the pass.
      if (texts.length > 0 && !(await this.#hold({ queue, offset, texts }))) {
        offset += texts.length
        left.others += texts.length
      }
    }
  }

  async #moveSet(set: SetName, left: Left): Promise<void> {
    for (let after: Entry | undefined; !this.#isEnding; ) {
      const read = await this.#source.jobSets.page(set, { ...(after ? { after } : {}), limit: TRANSFER_PAGE })
      const some = read.slice(0, pageLength(read.map(({ text }) => text)))
      after = some.at(-1)
      if (!after) return
      const entries = some.filter(({ text }) => {
        const reason = reasonOf(readPayload(text), set)
        if (reason) left[set === 'dead' ? 'ended' : reason]++
        return !reason
      })
      if (entries.length > 0 && !(await this.#hold({ set, entries }))) left.others += entries.length
    }
  }

  /** Takes jobs and moves them. False: the jobs are gone. */
  async #hold(from: TransferSource): Promise<boolean> {
    const page = await this.#source.transfers.hold(randomUUID(), this.#target as string, from)
    if (page) await this.#move(page)
    return page !== null
  }

  async #finishHeld(): Promise<void> {
    const page = await this.#source.transfers.held()
    if (page) await this.#move(page)
  }

  /** @throws STORE_UNUSABLE if the page is meant for another store */
  async #move(page: TransferPage): Promise<void> {
    await this.#checkTarget(page)
    this.#moved += await movePage(this.#source, this.#other, page, this.#now())
    this.#options.onMoved?.(this.#moved)
  }

  async #checkTarget({ target, jobs }: TransferPage): Promise<void> {
    const { id, url } = targetOf(target)
    if (id === (await idOf(this.#other))) return
    const { url: from } = this.#source
    const message = `${from} holds ${jobs.length} jobs that an interrupted move took for ${url}: finish it (highkiq move --from ${from} --to ${url}) or undo it (add --undo)`
    throw new HighkiqError('STORE_UNUSABLE', message)
  }

  get #other(): Store {
    return this.#options.target as Store
  }

  get #isEnding(): boolean {
    return this.#options.signal?.aborted === true
  }

  #now(): number {
    return (this.#options.now ?? Date.now)()
  }
}

/** Reads what a page says about its target. */
export function targetOf(target: string): { id: string; url: string } {
  const [id, url] = JSON.parse(target) as [string, string]
  return { id, url }
}

/** Returns the name of a store, which a copy of it has, too. */
function idOf(store: Store): Promise<string> {
  return store.results.secret(STORE_ID, randomUUID())
}

async function setsOf(store: Store): Promise<SetName[]> {
  return [...(await limitedSets(store)), 'retry', 'schedule', 'dead', 'finished']
}

/** Returns the number of texts that make one page, at least one. */
function pageLength(texts: readonly string[]): number {
  let length = 0
  const end = texts.findIndex((text, i) => {
    length += text.length
    return i > 0 && length > PAGE_LENGTH
  })
  return end === -1 ? texts.length : end
}

/** Counts the jobs that no pass moves. */
async function countRest({ workers, tasks, ordered }: Store, left: Left): Promise<void> {
  for (let after: string | null | undefined; after !== null; ) {
    const page = await workers.fetched({ after: after ?? undefined, limit: READ })
    left.running += page.items.length
    after = page.next
  }
  for (let after: string | null | undefined; after !== null; ) {
    const page = await tasks.idle(Number.MAX_SAFE_INTEGER, { after: after ?? undefined, limit: READ })
    for (const { backlog, deferred } of page.tasks) left.tasks += backlog + deferred
    after = page.next
  }
  for (const queue of await ordered.queues()) {
    const counts = await ordered.counts(queue, Date.now())
    for (const { length, busy } of counts?.shards ?? []) left.ordered += length + busy
    left.ended += counts?.morgueLength ?? 0
  }
}
