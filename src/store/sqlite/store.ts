import type { Store } from '../contract.ts'
import type { DatabaseOptions } from './file/database.ts'
import { StoreFile } from './file/store-file.ts'
import { SqliteJobStore } from './job-store.ts'
import { SqliteCronStore } from './jobs/crons.ts'
import { SqliteJobSetStore } from './jobs/job-set-store.ts'
import { SqliteMetricStore } from './jobs/metrics.ts'
import { SqliteResultStore } from './jobs/results.ts'
import { SqliteSearchStore } from './jobs/search.ts'
import { SqliteOrderedStore } from './ordered/ordered-store.ts'
import { SqliteCancellationStore } from './queues/cancellations.ts'
import { SqliteTaskStore } from './tasks/task-store.ts'
import { SqliteWorkerStore } from './workers/worker-store.ts'

/** The embedded store: one SQLite file for any number of processes on one machine. */
export class SqliteStore implements Store {
  readonly kind = 'sqlite'
  readonly maxConcurrentCalls = 1
  readonly url: string
  readonly jobs: SqliteJobStore
  readonly workers: SqliteWorkerStore
  readonly jobSets: SqliteJobSetStore
  readonly search: SqliteSearchStore
  readonly cancellations: SqliteCancellationStore
  readonly tasks: SqliteTaskStore
  readonly ordered: SqliteOrderedStore
  readonly crons: SqliteCronStore
  readonly metrics: SqliteMetricStore
  readonly results: SqliteResultStore
  readonly #file: StoreFile

  /** `warn` gets one line when another process has kept the file locked, or its log from being emptied, for 5 seconds. */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    const file = new StoreFile(options, warn)
    this.#file = file
    this.url = `sqlite:${options.path}`
    this.jobs = new SqliteJobStore(file)
    this.workers = new SqliteWorkerStore(file)
    this.jobSets = new SqliteJobSetStore(file)
    this.search = new SqliteSearchStore(file)
    this.cancellations = new SqliteCancellationStore(file)
    this.tasks = new SqliteTaskStore(file)
    this.ordered = new SqliteOrderedStore(file)
    this.crons = new SqliteCronStore(file)
    this.metrics = new SqliteMetricStore(file)
    this.results = new SqliteResultStore(file)
  }

  open(): Promise<void> {
    return this.#file.open()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
