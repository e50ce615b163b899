/** Polls each watched task in one loop for all its listeners. */

import type { Highkiq } from '../../app.ts'
import type { TaskStatus } from '../../tasks/task.ts'

/** The poll interval: at most four polls a second. */
const LOOK_MS = 250

export type TaskListener = {
  /** @param status null when the task was deleted */
  onStatus(status: TaskStatus | null): void
  onError(thrown: unknown): void
}

export class TaskPoller {
  readonly #hq: Highkiq
  readonly #watched = new Map<string, Set<TaskListener>>()

  constructor(hq: Highkiq) {
    this.#hq = hq
  }

  /** Calls the listener with each poll from now on. @returns a function that stops it */
  watch(id: string, watcher: TaskListener): () => void {
    const there = this.#watched.get(id)
    if (there) {
      there.add(watcher)
    } else {
      this.#watched.set(id, new Set([watcher]))
      this.#poll(id)
    }
    return () => {
      const watchers = this.#watched.get(id)
      watchers?.delete(watcher)
      if (watchers?.size === 0) this.#watched.delete(id)
    }
  }

  #poll(id: string): void {
    const watchers = this.#watched.get(id)
    const again = () => {
      // Stops when no listener is left. Listeners that came later have a loop of their own.
      if (watchers && this.#watched.get(id) === watchers) this.#poll(id)
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
