/** Tasks that somebody watches: each is looked at by one loop, however many watch it. */

import type { Highkiq } from '../../app.ts'
import type { TaskStatus } from '../../tasks/task.ts'

/** At most four a second. */
const LOOK_MS = 250

export type TaskListener = {
  /** null: the task is gone. */
  onStatus(status: TaskStatus | null): void
  onError(thrown: unknown): void
}

export class TaskPoller {
  readonly #hq: Highkiq
  readonly #watched = new Map<string, Set<TaskListener>>()

  constructor(hq: Highkiq) {
    this.#hq = hq
  }

  /** Tells the watcher each look from now on. @returns what ends it */
  watch(id: string, watcher: TaskListener): () => void {
    const there = this.#watched.get(id)
    if (there) {
      there.add(watcher)
    } else {
      this.#watched.set(id, new Set([watcher]))
      this.#look(id)
    }
    return () => {
      const watchers = this.#watched.get(id)
      watchers?.delete(watcher)
      if (watchers?.size === 0) this.#watched.delete(id)
    }
  }

  #look(id: string): void {
    const watchers = this.#watched.get(id)
    const again = () => {
      // Nobody is left, or others came after that: they have a loop of their own.
      if (watchers && this.#watched.get(id) === watchers) this.#look(id)
    }
    this.#hq.tasks
      .get(id)
      .status()
      .then(
        (status) => {
          for (const watcher of [...(watchers ?? [])]) watcher.onStatus(status)
        },
        (thrown) => {
          for (const watcher of [...(watchers ?? [])]) watcher.onError(thrown)
        },
      )
      .finally(() => setTimeout(again, LOOK_MS).unref())
  }
}
