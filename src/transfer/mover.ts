/**
 * Moves the jobs and tasks of a store to another one, while workers run on both sides. page.ts moves one page of jobs, tasks.ts
 * a task, ordered.ts an ordered queue.
 *
 * A job stays in the source as long as something there must change with it: its batch, or the lock of a cron entry. Workers of
 * the source run these jobs; a running job stays until it has settled.
 */

import { randomUUID } from 'node:crypto'
import { reasonOf, taskOf } from '../inspect/tied-jobs.ts'
import { HighkiqError } from '../job/errors.ts'
import { readPayload } from '../job/payload.ts'
import { quoted } from '../job/shell.ts'
import { type Store, sizeOfPage, type TransferPage, type TransferSource } from '../store/contract.ts'
import { rearrangePage, tasksOf } from './moving-jobs.ts'
import { moveOrdered, servedQueues } from './ordered.ts'
import { movePage, undoPage } from './page.ts'
import { countRest, NOTHING_LEFT, type RestCounts } from './rest.ts'
import { TaskMover } from './tasks.ts'
import { entriesAt, taskIds, textsOf, walkJobs } from './walk.ts'

const STORE_ID = 'store-id'

/** Whether the source has nothing that a later pass may move, or that its workers still run. */
export function isDone({ moved, tasks, left: { ended: _, ...open } }: Pass): boolean {
  return moved === 0 && tasks === 0 && Object.values(open).every((n) => n === 0)
}

export interface Pass {
  /** Jobs, and rows that had no job. */
  moved: number
  tasks: number
  left: RestCounts
  /** Ordered queues that a worker serves: they move once they are paused. */
  served: string[]
}

/** What an undo moved back. */
export interface Undone {
  jobs: number
  tasks: number
}

export interface MoverOptions {
  source: Store
  /** null: only for `undo`. */
  target: Store | null
  now?: () => number
  /** Called after each page, with the number of all jobs that moved. */
  onMoved?: (moved: number) => void
  /** Called when a pass pauses an ordered queue of the source, because no worker serves it and its ids move. */
  onPaused?: (queue: string) => void
  /** Ends a pass after the page under way. */
  signal?: AbortSignal
}

export class StoreMover {
  readonly #options: MoverOptions
  readonly #source: Store
  readonly #tasks: TaskMover
  #names: { source: string; target: string } | undefined
  #moved = 0

  constructor(options: MoverOptions) {
    this.#options = options
    this.#source = options.source
    this.#tasks = new TaskMover({
      source: options.source,
      target: options.target,
      now: () => this.#now(),
      isEnding: () => this.#isEnding,
      newName: () => this.#newName(),
      hold: async (from, to) => this.#hold(from, to),
      checkTarget: async (sealed) => {
        if (sealed !== undefined) await this.#checkTarget(sealed, 'a task')
        return (await this.#nameStores()).target
      },
    })
  }

  /** The number of jobs and rows that moved since this mover was made, and of tasks. */
  get moved(): number {
    return this.#moved + this.#tasks.rows
  }

  get movedTasks(): number {
    return this.#tasks.tasks
  }

  /**
   * Checks that the stores differ, and that the source holds no page for another store. Revokes in the target the links to
   * lists of tasks that were revoked in the source, pauses there what is paused in the source, copies limits (see
   * `#copyLimits`), and finishes the page of an earlier mover. Call it first, and after each error.
   */
  async begin(): Promise<void> {
    const [from, to] = [await idOf(this.#source), await idOf(this.#target)]
    if (from === to) {
      throw new HighkiqError(
        'INVALID_OPTION',
        `${this.#source.url} and ${this.#target.url} are the same store, or one is a copy of the other: name two stores`,
      )
    }
    await this.#copyLinkVersions()
    for (const queue of await this.#source.jobs.pausedQueues()) await this.#target.jobs.pauseQueue(queue, true)
    await this.#copyLimits()
    const page = await this.#source.transfers.held()
    if (page) await this.#finish(page)
  }

  /** Moves what may move now. */
  async pass(): Promise<Pass> {
    const before = { moved: this.moved, tasks: this.movedTasks }
    const left: RestCounts = { ...NOTHING_LEFT }
    await this.#tasks.freeze()
    await walkJobs(this.#source, (page) => this.#movePage(page, left), { isEnding: () => this.#isEnding })
    await this.#tasks.move()
    await moveOrdered({
      source: this.#source,
      hold: (ids) => this.#holdIds(ids),
      isEnding: () => this.#isEnding,
      onPaused: (queue) => this.#options.onPaused?.(queue),
    })
    await this.#copyLinkVersions()
    await this.#copyLimits()
    await countRest(this.#source, left)
    const served = await servedQueues(this.#source)
    return { moved: this.moved - before.moved, tasks: this.movedTasks - before.tasks, left, served }
  }

  /** Counts what `begin` and passes would move, and changes nothing. */
  async count(): Promise<Pass> {
    const left: RestCounts = { ...NOTHING_LEFT }
    const { transfers, tasks, jobSets } = this.#source
    // To read finished jobs would store them in another form.
    let moved = sizeOfPage(await transfers.held()) + (await jobSets.size('finished'))
    const count = async (page: TransferSource) => {
      const set = 'set' in page ? page.set : undefined
      for (const text of textsOf(page)) {
        const reason = reasonOf(readPayload(text), set)
        if (reason) left[reason]++
        else moved++
      }
      return textsOf(page).length
    }
    await walkJobs(this.#source, count, { finished: false })
    await countRest(this.#source, left)
    const found = new Set<string>()
    for await (const id of taskIds(this.#source)) {
      const task = found.has(id) ? null : await tasks.find(id)
      if (!task) continue
      found.add(id)
      moved += task.backlog
    }
    left.rows = left.tasks = 0
    return { moved, tasks: found.size, left, served: await servedQueues(this.#source) }
  }

  /** Moves the jobs of a held page back, and lets frozen tasks run again; null: there were none. */
  async undo(): Promise<Undone | null> {
    const page = await this.#source.transfers.held()
    const jobs = page ? await this.#undoPage(page) : null
    const tasks = await this.#tasks.undo()
    return jobs === null && tasks === null ? null : { jobs: jobs ?? 0, tasks: tasks ?? 0 }
  }

  /** Unfreezes the tasks that have not moved. Another mover that still runs freezes them again. Call it last. */
  async release(): Promise<void> {
    await this.#tasks.undo()
  }

  /** Copies the versions of the links to lists. Those of the links to a task move with the task. */
  async #copyLinkVersions(): Promise<void> {
    for (const [list, version] of Object.entries(await this.#source.results.linkVersions())) {
      await this.#target.results.raiseLinkVersion(list, version)
    }
  }

  /** Copies the numbers of limits that were set in the source. Those that were set in the target stay. */
  async #copyLimits(): Promise<void> {
    for (const limit of await this.#source.limits.allSet()) await this.#target.limits.add(limit)
  }

  async #undoPage(page: TransferPage): Promise<number> {
    if (await this.#isOwn(page)) {
      await this.#rearrange(page)
      return 0
    }
    const { target } = this.#options
    if (target) await this.#checkTarget(page.target, `${sizeOfPage(page)} jobs`)
    return undoPage(this.#source, target, page, this.#now())
  }

  /** Moves the jobs of a page that may move. Returns how many are still where they were. */
  async #movePage(page: TransferSource, left: RestCounts): Promise<number> {
    const texts = textsOf(page)
    const set = 'set' in page ? page.set : undefined
    const places = { target: [] as number[], source: [] as number[] }
    for (const [i, text] of texts.entries()) {
      const payload = readPayload(text)
      const reason = reasonOf(payload, set)
      const task = taskOf(payload, set)
      if (payload && task !== undefined) {
        const action = await this.#tasks.actionOf(payload, task)
        if (action === 'collect') places.source.push(i)
        if (action === 'move') places.target.push(i)
      } else if (reason) left[reason]++
      else places.target.push(i)
    }
    let kept = texts.length
    for (const to of ['target', 'source'] as const) {
      if (places[to].length === 0) continue
      // Jobs that can't be held now must not stop the pass.
      if (await this.#hold(entriesAt(page, places[to]), to)) kept -= places[to].length
      else left.others += places[to].length
    }
    return kept
  }

  /** Takes jobs and moves them. False: the jobs are gone. */
  async #hold(from: TransferSource, to: 'target' | 'source'): Promise<boolean> {
    const names = await this.#nameStores()
    const page = await this.#source.transfers.hold(await this.#newName(), names[to], from)
    if (page) await this.#finish(page)
    return page !== null
  }

  async #holdIds(from: { queue: string; ids: readonly string[]; dead: boolean }): Promise<TransferPage | null> {
    const { target } = await this.#nameStores()
    const page = await this.#source.transfers.holdIds(await this.#newName(), target, from)
    if (page) await this.#finish(page)
    return page
  }

  /** Returns a new name for a page or a task. */
  async #newName(): Promise<string> {
    return `${await idOf(this.#source)}/${randomUUID()}`
  }

  /** @throws STORE_UNUSABLE if the page is meant for another store */
  async #finish(page: TransferPage): Promise<void> {
    if (await this.#isOwn(page)) return this.#rearrange(page)
    await this.#checkTarget(page.target, `${sizeOfPage(page)} jobs`)
    this.#moved += await movePage(this.#source, this.#target, page, this.#now())
    this.#options.onMoved?.(this.moved)
  }

  async #rearrange(page: TransferPage): Promise<void> {
    await rearrangePage(this.#source, page, await this.#tasks.freezeAgain(tasksOf(page)), this.#now())
  }

  /** Whether the jobs of a page stay in the source, as jobs of tasks. */
  async #isOwn({ target }: TransferPage): Promise<boolean> {
    return targetOf(target).id === (await idOf(this.#source))
  }

  /** @throws STORE_UNUSABLE */
  async #checkTarget(target: string, what: string): Promise<void> {
    const { id, url } = targetOf(target)
    const { url: from } = this.#source
    if (!this.#options.target) {
      const message = `another mover moves jobs of ${from} to ${url} and holds ${what}: stop it and run this again, or add --to ${quoted(url)}`
      throw new HighkiqError('STORE_UNUSABLE', message)
    }
    if (id === (await idOf(this.#target))) return
    const message = `${from} holds ${what} that an interrupted move took for ${url}: finish it (highkiq move --from ${quoted(from)} --to ${quoted(url)}) or undo it (add --undo)`
    throw new HighkiqError('STORE_UNUSABLE', message)
  }

  /** Returns the texts that name both stores in pages. */
  async #nameStores(): Promise<{ source: string; target: string }> {
    const { target } = this.#options
    this.#names ??= {
      source: JSON.stringify([await idOf(this.#source), this.#source.url]),
      target: target ? JSON.stringify([await idOf(target), target.url]) : '',
    }
    return this.#names
  }

  get #target(): Store {
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
