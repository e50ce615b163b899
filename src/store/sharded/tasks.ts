/** Tasks. A task is on the shard of its id, with all of its rows and their jobs. */

import type { TaskRecord, TaskStore } from '../contract.ts'
import { byBytes, merged, pageThrough } from './pages.ts'
import { pushToEach } from './pushes.ts'
import type { Shards } from './shards.ts'

export class ShardedTaskStore implements TaskStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  /** `id` is that of a task, or the jid of a row, which begins with it. */
  #of(id: string): TaskStore {
    return this.#shards.of(id).store.tasks
  }

  readonly create: TaskStore['create'] = (task) => this.#of(task.id).create(task)
  readonly addRows: TaskStore['addRows'] = (task, ...rest) => this.#of(task).addRows(task, ...rest)
  readonly openAdding: TaskStore['openAdding'] = (task, ...rest) => this.#of(task).openAdding(task, ...rest)
  readonly endAdding: TaskStore['endAdding'] = (task, ...rest) => this.#of(task).endAdding(task, ...rest)
  readonly producers: TaskStore['producers'] = (id) => this.#of(id).producers(id)
  readonly change: TaskStore['change'] = (id, ...rest) => this.#of(id).change(id, ...rest)
  readonly revokeLinks: TaskStore['revokeLinks'] = (id) => this.#of(id).revokeLinks(id)
  readonly cancel: TaskStore['cancel'] = (id, ...rest) => this.#of(id).cancel(id, ...rest)
  readonly cancelRows: TaskStore['cancelRows'] = (id, ...rest) => this.#of(id).cancelRows(id, ...rest)
  readonly startRun: TaskStore['startRun'] = (id, ...rest) => this.#of(id).startRun(id, ...rest)
  readonly retryRows: TaskStore['retryRows'] = (id, ...rest) => this.#of(id).retryRows(id, ...rest)
  readonly delete: TaskStore['delete'] = (id, limit) => this.#of(id).delete(id, limit)
  readonly defer: TaskStore['defer'] = (row, now) => this.#of(row.jid).defer(row, now)
  readonly endDeferred: TaskStore['endDeferred'] = (end, now) => this.#of(end.jid).endDeferred(end, now)
  readonly leaveWindow: TaskStore['leaveWindow'] = (id, ...rest) => this.#of(id).leaveWindow(id, ...rest)
  readonly reasons: TaskStore['reasons'] = (id) => this.#of(id).reasons(id)
  readonly putPart: TaskStore['putPart'] = (task, ...rest) => this.#of(task).putPart(task, ...rest)
  readonly part: TaskStore['part'] = (task, index) => this.#of(task).part(task, index)
  readonly find: TaskStore['find'] = (id) => this.#of(id).find(id)
  readonly events: TaskStore['events'] = (task, query) => this.#of(task).events(task, query)
  readonly event: TaskStore['event'] = (jid) => this.#of(jid).event(jid)
  readonly addMessage: TaskStore['addMessage'] = (jid, message) => this.#of(jid).addMessage(jid, message)

  readonly changeEvents: TaskStore['changeEvents'] = async (effects, now) => {
    const groups = [...this.#shards.group(effects, ({ jid }) => this.#shards.of(jid))]
    await Promise.all(groups.map(([{ store }, some]) => store.tasks.changeEvents(some, now)))
  }

  readonly pushTracked: TaskStore['pushTracked'] = async (items, now) => {
    await pushToEach(
      this.#shards,
      items,
      ({ task }) => this.#shards.of(task.id),
      async ({ tasks }, some) => {
        await tasks.pushTracked(some, now)
        return []
      },
      { itemOf: ({ item }) => item },
    )
  }

  readonly expired: TaskStore['expired'] = (now, limit) => this.#some(limit, (tasks) => tasks.expired(now, limit))
  readonly overdue: TaskStore['overdue'] = (now, limit) => this.#some(limit, (tasks) => tasks.overdue(now, limit))

  async #some(limit: number, read: (tasks: TaskStore) => Promise<string[]>): Promise<string[]> {
    const all = await this.#shards.reachable((store) => read(store.tasks))
    return all.flatMap(({ answer }) => answer).slice(0, limit)
  }

  readonly cancelling: TaskStore['cancelling'] = ({ after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.tasks.cancelling(page), { skipsUnreachable: true })

  readonly idle: TaskStore['idle'] = (before, { after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.tasks.idle(before, page), { skipsUnreachable: true })

  readonly ahead: TaskStore['ahead'] = (time, { after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.tasks.ahead(time, page), { skipsUnreachable: true })

  readonly page: TaskStore['page'] = async (page) =>
    merged(await this.#shards.each((store) => store.tasks.page(page)), newestFirst, page.limit)
}

function newestFirst(a: TaskRecord, b: TaskRecord): number {
  return b.createdAt - a.createdAt || byBytes(b.id, a.id)
}
