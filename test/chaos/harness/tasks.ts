import type { EventStatus } from '#dist/store/contract.js'
import type { harnessApp } from './app.js'
import type { Journal } from './journal.ts'
import type { StoredTask } from './verdict.ts'

type App = ReturnType<typeof harnessApp>

/** Reads tasks, in a soak before they are deleted. */
export class TaskReader {
  readonly #app: App
  readonly #ended = new Map<string, StoredTask>()

  constructor(app: App) {
    this.#app = app
  }

  /** Reads the tasks that have ended and that it has not read before. */
  async readEnded({ tasks }: Journal): Promise<void> {
    for (const { id } of tasks) {
      if (this.#ended.has(id)) continue
      const task = await this.#read(id)
      if (task?.state === 'done') this.#ended.set(id, task)
    }
  }

  async readAll({ tasks }: Journal): Promise<Map<string, StoredTask | null>> {
    const read = async (id: string) => [id, this.#ended.get(id) ?? (await this.#read(id))] as const
    return new Map(await Promise.all(tasks.map(({ id }) => read(id))))
  }

  async #read(id: string): Promise<StoredTask | null> {
    const task = this.#app.hq.tasks.get(id)
    const status = await task.status()
    if (!status) return null
    const events: EventStatus[] = []
    for await (const event of task.events()) events.push(event.status)
    return { state: status.state, counts: status.counts, events }
  }
}
