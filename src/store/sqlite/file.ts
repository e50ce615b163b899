/** The file of a store, opened at the first need: reads of one state of it, writes that are all or nothing. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bell } from './bell.ts'
import { Checkpoints } from './checkpoints.ts'
import { Crons } from './crons.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { Iterations } from './iterations.ts'
import { Leases } from './leases.ts'
import { Marks } from './marks.ts'
import { Metrics } from './metrics.ts'
import type { Opened } from './moves.ts'
import { Ordered } from './ordered/ordered.ts'
import { Processes } from './processes.ts'
import { Queues } from './queues.ts'
import { Removal } from './removal.ts'
import { Results } from './results.ts'
import { Search } from './search.ts'
import { Sets } from './sets.ts'
import { Stats } from './stats.ts'
import { Tasks } from './tasks/tasks.ts'
import { closedError, Writer } from './writer.ts'

export class StoreFile {
  readonly options: DatabaseOptions
  readonly #warn: ((message: string) => void) | undefined
  #opening: Promise<Opened> | undefined
  #closed = false

  /** `warn`: see `Writer` and `Checkpoints`. */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    this.options = options
    this.#warn = warn
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** `seconds`: how long the file may be locked before this is given up. */
  async write<T>(work: (s: Opened) => T, seconds = Number.POSITIVE_INFINITY): Promise<T> {
    const s = await this.opened()
    return s.writer.write(() => work(s), seconds)
  }

  /**
   * Reads see one state of the file; they wait for nobody, but the file may be closed to all for a moment. Each takes a
   * turn of the event loop: who asks again and again would else keep everybody else in the process from working.
   */
  async read<T>(work: (s: Opened) => T): Promise<T> {
    for (;;) {
      const s = await this.opened()
      await nextTurn()
      try {
        return work(s)
      } catch (thrown) {
        if (!s.db.isBusy(thrown)) throw s.db.explain(thrown)
        await new Promise((resume) => setTimeout(resume, 1))
      }
    }
  }

  /** @throws STORE_CLOSED, and what opening throws */
  opened(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closedError(this.options.path))
    this.#opening ??= this.#open().catch((thrown) => {
      // What was wrong may be mended: the next one tries again.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  async close(): Promise<void> {
    this.#closed = true
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    if (!opened) return
    opened.bell.close()
    await opened.writer.close()
    await opened.checkpoints?.close()
    opened.db.close()
  }

  async #open(): Promise<Opened> {
    const db = await Database.open(this.options)
    const rung = new Set<string>()
    const bell = new Bell(db.path, () => db.dataVersion)
    const checkpoints = db.path === ':memory:' ? undefined : new Checkpoints(db, this.options, this.#warn)
    const afterCommit = () => {
      bell.ring(rung)
      rung.clear()
      checkpoints?.committed()
    }
    const writer = new Writer(db, afterCommit, this.#warn)
    const queues = new Queues(db, rung)
    const sets = new Sets(db, rung)
    const leases = new Leases(db)
    return {
      db,
      writer,
      bell,
      checkpoints,
      queues,
      sets,
      stats: new Stats(db, sets),
      leases,
      processes: new Processes(db),
      results: new Results(db, rung),
      tasks: new Tasks(db, sets),
      crons: new Crons(db),
      search: new Search(db),
      removal: new Removal(db),
      metrics: new Metrics(db),
      iterations: new Iterations(db),
      marks: new Marks(db, rung),
      ordered: new Ordered(db, leases, rung),
    }
  }
}
