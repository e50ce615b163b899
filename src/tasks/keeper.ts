/**
 * What sees to it that a task always ends, whoever died: one worker at a time goes on with what is being cancelled, gives
 * places back that a program took which does not know tasks, ends rows that are nowhere, and forgets old tasks.
 */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pages } from '../inspect/walk.ts'
import { readPayload, splitTaskJid } from '../job/payload.ts'
import { jidsOf } from '../job/rows.ts'
import type { EventRecord, Scan, ScanPage, Store, TaskRecord } from '../store/contract.ts'
import type { Service } from '../worker/aspect.ts'
import { cancelRows, removeTask } from './end.ts'
import { eventPages } from './event.ts'
import type { StoreOfTasks } from './rows.ts'

const DUTY = 'tasks'
const DUTY_SECONDS = 60
const SOONEST_SECONDS = 0.2
/** Places are looked for after so long without progress. */
const IDLE_MS = 10_000
const TASKS_AT_ONCE = 100
const PAGE = 500
const STOP_MS = 3000

export interface KeeperHost extends StoreOfTasks {
  report(error: unknown, about: Record<string, unknown>): void
}

export class TaskKeeper implements Service {
  readonly #host: KeeperHost
  readonly #everyMs: number
  readonly #idleMs: number
  readonly #holder = randomBytes(8).toString('hex')
  readonly #stopping = new AbortController()
  /** What was nowhere at the last look, by jid: its run, attempts and status then. */
  #missing = new Map<string, string>()
  #loop: Promise<void> | undefined

  /** `everySeconds`: between looks, but not oftener than SOONEST_SECONDS. */
  constructor(host: KeeperHost, { everySeconds, idleMs = IDLE_MS }: { everySeconds: number; idleMs?: number }) {
    this.#host = host
    this.#everyMs = Math.max(everySeconds, SOONEST_SECONDS) * 1000
    this.#idleMs = idleMs
  }

  start(): void {
    this.#loop = this.#run()
  }

  quiet(): void {
    this.#stopping.abort()
  }

  async stop(): Promise<void> {
    this.quiet()
    await Promise.race([this.#loop, sleep(STOP_MS, undefined, { ref: false })])
    await this.#host
      .store()
      .letGo(DUTY, this.#holder)
      .catch(() => {})
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.look()
      } catch (thrown) {
        if (!signal.aborted) this.#host.report(thrown, { during: 'looking after tasks' })
      }
      await sleep(this.#everyMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** One look, if no other process does it. */
  async look(): Promise<void> {
    const store = this.#host.store()
    const now = this.#host.now()
    const idle = await store.idleTasks(now - this.#idleMs, TASKS_AT_ONCE)
    const expired = await store.expiredTasks(now, TASKS_AT_ONCE)
    // Mostly there is nothing to do, and that costs no write.
    if (idle.length + expired.length === 0) return
    if (!(await store.hold(DUTY, this.#holder, DUTY_SECONDS))) return
    const missing = new Map<string, string>()
    const waiting: TaskRecord[] = []
    for (const task of idle) {
      if (this.#stopping.signal.aborted) return
      if (task.state === 'cancelling') await cancelRows(this.#host, task.id)
      else waiting.push(task)
    }
    if (waiting.length > 0) {
      const seen = await this.#seen(store, waiting)
      for (const task of waiting) {
        if (this.#stopping.signal.aborted) return
        const away = await this.#recount(store, task, seen.get(task.id) as Set<number>)
        for (const [jid, state] of away) missing.set(jid, state)
      }
    }
    this.#missing = missing
    for (const id of expired) {
      if (this.#stopping.signal.aborted) return
      await removeTask(this.#host, id)
    }
  }

  /** @returns the open rows that are nowhere, if it is time to judge them */
  async #recount(store: Store, task: TaskRecord, seen: ReadonlySet<number>): Promise<Map<string, string>> {
    const missing = new Map<string, string>()
    const judged = this.#host.now() - (task.progressAt ?? task.createdAt) >= task.unknownAfter
    const away = await this.#away(store, task, seen)
    const still = await store.task(task.id)
    if (away.length === 0 || still?.progressAt !== task.progressAt) return missing
    const placed = away.filter(({ place }) => place === 'placed')
    if (placed.length > 0) {
      await store.freePlaces(
        task.id,
        placed.map(({ index }) => index),
        this.#host.now(),
      )
    }
    if (!judged) return missing
    const lost: EventRecord[] = []
    for (const event of away) {
      const state = `${event.run} ${event.attempts} ${event.status}`
      if (this.#missing.get(event.jid) === state) lost.push(event)
      else missing.set(event.jid, state)
    }
    await this.#end(store, lost)
    return missing
  }

  /**
   * Indexes of the rows whose jobs are somewhere, by task: looked for along the way that a job goes, once for all tasks,
   * after each of them was seen to be idle.
   */
  async #seen(store: Store, tasks: readonly TaskRecord[]): Promise<Map<string, Set<number>>> {
    const seen = new Map(tasks.map(({ id }) => [id, new Set<number>()]))
    // One task is looked for by its name, for what does not belong to it need not come here.
    const text = tasks.length === 1 ? `"${tasks[0]?.id}"` : '"hk_task"'
    const note = (job: string) => {
      const payload = job.includes(text) ? readPayload(job) : undefined
      if (payload?.hk_task === undefined) return
      const indexes = seen.get(payload.hk_task)
      for (const jid of jidsOf(payload)) indexes?.add(splitTaskJid(jid).index)
    }
    const noteAll = async (read: (page: ScanPage) => Promise<Pick<Scan<{ text: string }>, 'items' | 'next'>>) => {
      for await (const { items } of pages((after) => read({ after, limit: PAGE }))) {
        for (const { text: job } of items) note(job)
      }
    }
    for (const queue of new Set(tasks.map((task) => task.queue))) {
      await noteAll((page) => store.scanQueue(queue, text, page))
    }
    await noteAll((page) => store.taken(page))
    for (const { text: job } of await store.running()) note(job)
    await noteAll((page) => store.scanSet('schedule', text, page))
    await noteAll((page) => store.scanSet('retry', text, page))
    return seen
  }

  /** Open rows that do not wait in the task and were not seen. */
  async #away(store: Store, { id }: TaskRecord, seen: ReadonlySet<number>): Promise<EventRecord[]> {
    const away: EventRecord[] = []
    for (const status of ['enqueued', 'working'] as const) {
      for await (const page of eventPages(() => store, id, { status: [status] })) {
        away.push(...page.filter(({ place, index }) => place !== 'held' && !seen.has(index)))
        // Rows that were never in the queue come behind all that were.
        if (page.every(({ place }) => place === 'held')) break
      }
    }
    return away
  }

  /** A row that never told that it began was taken by a program that does not know tasks. */
  async #end(store: Store, lost: readonly EventRecord[]): Promise<void> {
    const at = this.#host.now()
    for (let from = 0; from < lost.length; from += PAGE) {
      const effects = lost.slice(from, from + PAGE).map(({ jid, run, attempts, status }) => {
        const code = status === 'working' ? 'lost' : 'foreign'
        return {
          kind: 'event' as const,
          ...{ jid, run, attempt: attempts, status: 'error' as const, at, place: 'leave' as const, code },
          messages: [{ at, code, params: {} }],
        }
      })
      await store.changeEvents(effects, at)
    }
  }
}
