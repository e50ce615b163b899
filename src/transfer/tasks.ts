/**
 * Moves tasks as a whole: rows, events, results, files, callbacks, and the jobs of rows. The steps, each atomic in its store:
 *
 * 1. `freeze` (source): no more rows of the task enter its queue. Running jobs end as they do; a handler may still add rows,
 *    which stay in the backlog.
 * 2. Its jobs in queues and job sets go to the sets `moving:…` of the task, page by page (moving-jobs.ts), where nothing runs them.
 * 3. `seal` (source), once every open row is in the backlog, parked, or has its job in these sets: the task gets a name, is not
 *    found any more, and does not change any more.
 * 4. `putTask` (target), part by part, each under the name of the task: the target knows which part is next, and stores each
 *    once. With the last part the task is there and runs. A flag (inspect/arriving-task.ts) keeps its rows open meanwhile.
 * 5. Its jobs go from the sets `moving:…` to the target, page by page. Then the flag is removed.
 * 6. `dropTask` (source): the task is deleted, when these sets are empty.
 *
 * A crash, or a lost answer, leaves the task frozen or sealed in the source, which lists it. The next mover continues with the
 * step that is next; a repeated step changes nothing, also if several movers do it at the same time.
 *
 * To undo a task is `voidTask` (target). If the target has the task, steps 5 and 6 follow. If not, the target never stores it
 * under this name: `unseal` makes it a frozen task again, its jobs go back to their places, and `unfreeze` lets it run.
 *
 * Between steps 3 and 4 the task is found in neither store. A program that adds rows or ends a deferred row gets UNKNOWN_TASK or
 * NOT_FOUND, and nothing is lost without an error.
 */

import { clearArriving, setArriving } from '../inspect/arriving-task.ts'
import { taskOf } from '../inspect/tied-jobs.ts'
import { pages } from '../inspect/walk.ts'
import { type Payload, readPayload, splitTaskJid } from '../job/payload.ts'
import { jidsOf } from '../job/rows.ts'
import {
  type Entry,
  type MovingOrigin,
  type MovingTask,
  movingSets,
  type Store,
  type TaskRecord,
  type TransferSource,
} from '../store/contract.ts'
import { taskIds, walkSet } from './walk.ts'

const READ = 1000
/** If another mover fills the sets of a task so often meanwhile, that mover releases the task. */
const RELEASE_TRIES = 3

export interface TaskMoverOptions {
  source: Store
  /** null: only for `undo`. */
  target: Store | null
  now: () => number
  isEnding: () => boolean
  /** Returns a new name for a task. */
  newName: () => Promise<string>
  /** Takes jobs as a page for the target, or for the source itself, and moves them. */
  hold: (from: TransferSource, to: 'target' | 'source') => Promise<unknown>
  /** Returns the text that names the target. @throws STORE_UNUSABLE if a sealed task is meant for another store */
  checkTarget: (sealed?: string) => Promise<string>
}

/** `collect`: the job goes to the set of its task. `leave`: it stays where it is. `move`: it moves like a job without a task. */
export type Action = 'collect' | 'leave' | 'move'

export class TaskMover {
  readonly #options: TaskMoverOptions
  readonly #source: Store
  #frozen = new Set<string>()
  #staying = new Set<string>()
  /** Tasks and rows that moved. */
  tasks = 0
  rows = 0

  constructor(options: TaskMoverOptions) {
    this.#options = options
    this.#source = options.source
  }

  /** Freezes the tasks that may move. */
  async freeze(): Promise<void> {
    const moving = await this.#source.transfers.movingTasks()
    this.#frozen = new Set(moving.flatMap(({ id, sealed }) => (sealed ? [] : [id])))
    this.#staying = new Set(moving.flatMap(({ id, sealed }) => (sealed ? [id] : [])))
    for await (const id of taskIds(this.#source)) {
      if (this.#options.isEnding()) return
      if (this.#frozen.has(id) || this.#staying.has(id)) continue
      const task = await this.#source.tasks.find(id)
      if (task && !isOpenSingle(task)) await this.#freeze(id)
    }
  }

  /** Returns what a pass does with a job of a task. A single tracked job is frozen here, because it may be that of a cron entry. */
  async actionOf(payload: Payload, task: string): Promise<Action> {
    if (this.#frozen.has(task)) return 'collect'
    if (this.#staying.has(task)) return 'leave'
    if (payload.hk_lock === undefined && (await this.#freeze(task))) return 'collect'
    if ((await this.#source.tasks.find(task)) === null) return 'move'
    this.#staying.add(task)
    return 'leave'
  }

  /**
   * Freezes tasks whose jobs a page has, because another mover may have released them since. Returns those whose sets get these
   * jobs; the jobs of the others go back.
   */
  async freezeAgain(ids: ReadonlySet<string>): Promise<Set<string>> {
    const moving = new Set<string>()
    for (const id of ids) if (await this.#freeze(id)) moving.add(id)
    if (moving.size === ids.size) return moving
    for (const { id, sealed } of await this.#source.transfers.movingTasks()) if (sealed) moving.add(id)
    for (const id of ids) {
      if (moving.has(id)) continue
      this.#frozen.delete(id)
      this.#staying.add(id)
    }
    return moving
  }

  /** Moves the tasks that are sealed or can be sealed now. */
  async move(): Promise<void> {
    const moving = await this.#source.transfers.movingTasks()
    const running = moving.length > 0 ? await runningTasks(this.#source) : new Set()
    for (const task of moving) {
      if (this.#options.isEnding()) return
      const sealed = task.sealed ?? (running.has(task.id) ? null : await this.#seal(task.id))
      if (sealed) await this.#send(task.id, sealed)
    }
  }

  /** Lets all tasks run again that the target does not have. Returns how many; null: there was none. */
  async undo(): Promise<number | null> {
    const moving = await this.#source.transfers.movingTasks()
    let back = 0
    for (const { id, sealed } of moving) if (await this.#undo(id, sealed)) back++
    return moving.length > 0 ? back : null
  }

  async #freeze(id: string): Promise<boolean> {
    const answer = await this.#source.transfers.freeze(id, this.#options.now())
    if (answer === 'ok') this.#frozen.add(id)
    return answer === 'ok'
  }

  async #seal(id: string): Promise<MovingTask['sealed']> {
    const { tasks, transfers } = this.#source
    let task = await tasks.find(id)
    // It was deleted meanwhile, or it is being cancelled, for which its jobs must be where workers find them.
    if (!task || task.state === 'cancelling') {
      await this.#release(id)
      return null
    }
    if (task.inWindow > 0) {
      await this.#leaveWindow(id)
      task = await tasks.find(id)
    }
    if (!task || task.inWindow > 0) return null
    const { counts, backlog, deferred } = task
    // If a count changes after this line, the task is not sealed.
    if ((await this.#openRowsWithJobs(id)) !== counts.enqueued + counts.working - backlog - deferred) return null
    const sealed = { transfer: await this.#options.newName(), target: await this.#options.checkTarget() }
    return (await transfers.seal(id, sealed.transfer, sealed.target, counts)) ? sealed : null
  }

  async #leaveWindow(id: string): Promise<void> {
    for await (const rows of this.#jobsOf(id, 'queue')) {
      await this.#source.tasks.leaveWindow(id, [...new Set(rows.keys())], this.#options.now())
    }
  }

  /** Returns how many open rows have their job in a set of the task. */
  async #openRowsWithJobs(id: string): Promise<number> {
    const seen = new Set<number>()
    for await (const rows of this.#jobsOf(id, 'schedule', 'retry', 'queue')) {
      const indexes = [...rows.keys()]
      for (let from = 0; from < indexes.length; from += READ) {
        const some = indexes.slice(from, from + READ)
        for (const event of await this.#source.tasks.events(id, { indexes: some, limit: READ })) {
          const isOpen = event.status === 'enqueued' || event.status === 'working'
          const isHere = event.location === 'elsewhere' && event.deferredUntil === undefined
          if (isOpen && isHere && event.run === rows.get(event.index)) seen.add(event.index)
        }
      }
    }
    return seen.size
  }

  /** Yields the rows whose jobs wait in some sets of a task, with their runs, a page at a time. */
  async *#jobsOf(id: string, ...origins: MovingOrigin[]): AsyncGenerator<Map<number, number>> {
    for (const set of movingSets(id, origins)) {
      for (let after: Entry | undefined; ; ) {
        const page = await this.#source.jobSets.page(set, { ...(after ? { after } : {}), limit: READ })
        after = page.at(-1)
        if (!after) break
        yield new Map(page.flatMap(({ text }) => rowsOf(readPayload(text))))
      }
    }
  }

  /** Stores a sealed task in the target, then its jobs, and drops it. */
  async #send(id: string, { transfer, target: about }: NonNullable<MovingTask['sealed']>): Promise<void> {
    const { now, isEnding, checkTarget } = this.#options
    const { transfers } = this.#source
    const target = this.#options.target as Store
    await checkTarget(about)
    let backlog = 0
    for (let cursor = ''; ; ) {
      const part = await transfers.readTask(id, transfer, cursor)
      // Another mover was faster.
      if (!part) return
      if (cursor === '') await setArriving(target, id, transfer)
      backlog += part.task?.progress.backlog ?? 0
      const answer = await target.transfers.putTask(id, transfer, cursor, part, now())
      if (answer === 'void') {
        await transfers.unseal(id, transfer)
        return
      }
      if (answer === 'stored') break
      if (isEnding()) return
      cursor = answer.cursor
    }
    await this.#emptySets(id, 'target')
    await clearArriving(target, id, transfer)
    // Another mover has dropped or released the task, or holds some of its jobs.
    if (!(await transfers.dropTask(id, transfer))) return
    this.tasks++
    this.rows += backlog
  }

  async #emptySets(id: string, to: 'target' | 'source'): Promise<void> {
    // Each page goes to the front of its queue in the source, and to the back in the target.
    const order = { desc: to === 'source' }
    for (const set of movingSets(id)) {
      await walkSet(this.#source, set, (page) => this.#options.hold(page, to), order)
    }
  }

  /** Returns whether the task runs again in the source. */
  async #undo(id: string, sealed: MovingTask['sealed']): Promise<boolean> {
    if (sealed) {
      const { target, now, checkTarget } = this.#options
      if (target) await checkTarget(sealed.target)
      if (target && (await target.transfers.voidTask(id, sealed.transfer, now())) === 'stored') {
        await this.#send(id, sealed)
        return false
      }
      await this.#source.transfers.unseal(id, sealed.transfer)
    }
    return this.#release(id)
  }

  async #release(id: string): Promise<boolean> {
    this.#frozen.delete(id)
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      await this.#emptySets(id, 'source')
      if (await this.#source.transfers.unfreeze(id, this.#options.now())) return true
    }
    return false
  }
}

/** Whether it is a single tracked job that has not ended and is not parked. Its job is frozen where it is found. */
function isOpenSingle({ single, counts, deferred }: TaskRecord): boolean {
  return single && counts.enqueued + counts.working > deferred
}

function rowsOf(payload: Payload | undefined): [index: number, run: number][] {
  if (payload?.hk_task === undefined) return []
  return jidsOf(payload).map((jid) => [splitTaskJid(jid).index, payload.hk_run ?? 1])
}

/** Returns the tasks of the jobs that are with a worker. */
async function runningTasks({ workers }: Store): Promise<Set<string>> {
  const tasks = new Set<string>()
  for await (const { items } of pages((after) => workers.fetched({ after, limit: READ }))) {
    for (const { text } of items) tasks.add(taskOf(readPayload(text)) ?? '')
  }
  return tasks
}
