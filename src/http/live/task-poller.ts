/** Polls each watched task in one loop for all its listeners. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from '../../app.ts'
import type { TaskStatus } from '../../tasks/task.ts'
import { withoutMeta } from '../access/task-meta.ts'

/** The poll interval: at most four polls a second. */
const POLL_MS = 250

export type TaskListener = {
  /** @param status null when the task was deleted */
  onStatus(status: TaskStatus | null): void
  onError(thrown: unknown): void
}

/**
 * Returns a function that calls a listener with each poll of a task from now on. That function returns another one, which
 * stops it.
 */
export function taskPoller(hq: Highkiq): (id: string, listener: TaskListener) => () => void {
  const watched = new Map<string, Set<TaskListener>>()
  /** Polls until no listener is left. Listeners that come later have a loop of their own. */
  const poll = async (id: string, listeners: Set<TaskListener>) => {
    while (watched.get(id) === listeners) {
      try {
        const found = await hq.tasks.get(id).status()
        const status = found && withoutMeta(found)
        for (const listener of [...listeners]) listener.onStatus(status)
      } catch (thrown) {
        for (const listener of [...listeners]) listener.onError(thrown)
      }
      await sleep(POLL_MS, undefined, { ref: false })
    }
  }
  return (id, listener) => {
    const listeners = watched.get(id) ?? new Set()
    listeners.add(listener)
    if (listeners.size === 1) {
      watched.set(id, listeners)
      void poll(id, listeners)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && watched.get(id) === listeners) watched.delete(id)
    }
  }
}
