/** Polls each watched task in one loop for all its listeners. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from '../../app.ts'
import type { TaskStatus } from '../../tasks/task.ts'

/** The poll interval: at most four polls a second. */
const POLL_MS = 250

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
  watch(id: string, listener: TaskListener): () => void {
    const listeners = this.#watched.get(id) ?? new Set()
    listeners.add(listener)
    if (listeners.size === 1) {
      this.#watched.set(id, listeners)
      void this.#poll(id, listeners)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#watched.get(id) === listeners) this.#watched.delete(id)
    }
  }

  /** Polls until no listener is left. Listeners that come later have a loop of their own. */
  async #poll(id: string, listeners: Set<TaskListener>): Promise<void> {
    while (this.#watched.get(id) === listeners) {
      try {
        const status = await this.#hq.tasks.get(id).status()
        for (const listener of [...listeners]) listener.onStatus(status)
      } catch (thrown) {
        for (const listener of [...listeners]) listener.onError(thrown)
      }
      await sleep(POLL_MS, undefined, { ref: false })
    }
  }
}
