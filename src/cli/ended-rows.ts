/** Reads the rows of a task as they end. */

import type { Highkiq, TaskEvent, TaskStatus } from '../index.ts'
import { OPEN_STATUSES } from '../store/contract.ts'
import { eventOf } from '../tasks/event.ts'
import { retryTransient } from '../tasks/rows.ts'
import { endedOf, isOver } from '../tasks/task.ts'

const PAGE = 500

/** Remembers which rows have not ended, and reads only these again, so that a row that waits for hours costs little. */
export class EndedRows {
  readonly #hq: Highkiq
  readonly #task: TaskStatus
  /** The indexes of the rows before `#next` that have not ended. */
  readonly #open = new Set<number>()
  /** The index of the first row that was not read. */
  #next = 0
  /** The number of rows that were yielded. */
  #ended = 0

  constructor(hq: Highkiq, task: TaskStatus) {
    this.#hq = hq
    this.#task = task
  }

  /** Yields the rows that have ended since the previous call. Read `status` after that call. */
  async *read(status: TaskStatus): AsyncGenerator<TaskEvent> {
    const open = [...this.#open]
    for (let i = 0; i < open.length; i += PAGE) yield* this.#page({ indexes: open.slice(i, i + PAGE) })
    const ended = isOver(status) ? Number.POSITIVE_INFINITY : endedOf(status.counts)
    let first = -1
    while (this.#ended < ended && this.#next > first) {
      first = this.#next
      yield* this.#page({ after: first - 1 })
    }
  }

  async *#page(which: { indexes: number[] } | { after: number }): AsyncGenerator<TaskEvent> {
    const { id, job } = this.#task
    for (const event of await retryTransient(() => this.#hq.store.tasks.events(id, { ...which, limit: PAGE }))) {
      this.#next = Math.max(this.#next, event.index + 1)
      if (OPEN_STATUSES.includes(event.status)) {
        this.#open.add(event.index)
        continue
      }
      this.#open.delete(event.index)
      this.#ended++
      yield eventOf(job, event)
    }
  }
}
