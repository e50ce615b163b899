import { resolve } from 'node:path'
import type { Finding, MigrationPlan, Store } from '../contract.ts'
import { backUp } from './file/backup.ts'
import type { DatabaseOptions } from './file/database.ts'
import { diagnose } from './file/diagnosis.ts'
import { planMigration } from './file/migration-plan.ts'
import { SqliteArea, StoreFile } from './file/store-file.ts'
import { SqliteJobStore } from './job-store.ts'
import { SqliteBatchStore } from './jobs/batches.ts'
import { SqliteCronStore } from './jobs/crons.ts'
import { SqliteJobSetStore } from './jobs/job-set-store.ts'
import { SqliteMetricStore } from './jobs/metrics.ts'
import { SqliteResultStore } from './jobs/results.ts'
import { SqliteSearchStore } from './jobs/search.ts'
import { SqliteOrderedStore } from './ordered/ordered-store.ts'
import { SqliteCancellationStore } from './queues/cancellations.ts'
import { SqliteJobEventStore } from './queues/job-events.ts'
import { SqliteLimitStore } from './queues/limits.ts'
import { SqliteUniqueStore } from './queues/unique.ts'
import { SqliteTaskStore } from './tasks/task-store.ts'
import { SqliteOrderedTransferStore } from './transfers/ordered-transfers.ts'
import { SqliteWorkerStore } from './workers/worker-store.ts'

/** The embedded store: one SQLite file for any number of processes on one machine. */
export class SqliteStore extends SqliteArea implements Store {
  readonly kind = 'sqlite'
  readonly maxConcurrentCalls = 1
  readonly url: string
  readonly jobs = new SqliteJobStore(this.file)
  readonly workers = new SqliteWorkerStore(this.file)
  readonly jobSets = new SqliteJobSetStore(this.file)
  readonly search = new SqliteSearchStore(this.file)
  readonly cancellations = new SqliteCancellationStore(this.file)
  readonly tasks = new SqliteTaskStore(this.file)
  readonly ordered = new SqliteOrderedStore(this.file)
  readonly crons = new SqliteCronStore(this.file)
  readonly limits = new SqliteLimitStore(this.file)
  readonly events = new SqliteJobEventStore(this.file)
  readonly unique = new SqliteUniqueStore(this.file)
  readonly batches = new SqliteBatchStore(this.file)
  readonly metrics = new SqliteMetricStore(this.file)
  readonly results = new SqliteResultStore(this.file)
  readonly transfers = new SqliteOrderedTransferStore(this.file)

  /** `warn` gets one line when another process has kept the file locked, or its log from being emptied, for 5 seconds. */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    const { path } = options
    // The threads of the store open the file later, and the app may change the working folder.
    super(new StoreFile({ ...options, path: path === ':memory:' ? path : resolve(path) }, warn))
    this.url = `sqlite:${path}`
  }

  open(): Promise<void> {
    return this.file.open()
  }

  diagnose(): Promise<Finding[]> {
    return diagnose(this.file.options)
  }

  planMigration(): Promise<MigrationPlan> {
    const { path, driver } = this.file.options
    return planMigration(path, driver)
  }

  backUp(to: string): Promise<void> {
    return backUp(this.file.options, to)
  }

  close(): Promise<void> {
    return this.file.close()
  }
}
