import type { Finding, MigrationPlan, Store } from '../contract.ts'
import { PostgresJobStore } from './job-store.ts'
import { PostgresBatchStore } from './jobs/batches.ts'
import { PostgresCronStore } from './jobs/crons.ts'
import { PostgresJobSetStore } from './jobs/job-set-store.ts'
import { PostgresMetricStore } from './jobs/metrics.ts'
import { PostgresResultStore } from './jobs/results.ts'
import { PostgresSearchStore } from './jobs/search.ts'
import { PostgresOrderedStore } from './ordered/ordered-store.ts'
import { PostgresCancellationStore } from './queues/cancellations.ts'
import { PostgresJobEventStore } from './queues/job-events.ts'
import { PostgresLimitStore } from './queues/limits.ts'
import { PostgresUniqueStore } from './queues/unique.ts'
import { diagnose } from './server/diagnosis.ts'
import { PostgresArea, StoreServer } from './server/store-server.ts'
import type { PostgresOptions } from './server/url.ts'
import { PostgresTaskStore } from './tasks/task-store.ts'
import { PostgresOrderedTransferStore } from './transfers/ordered-transfers.ts'
import { PostgresWorkerStore } from './workers/worker-store.ts'

/** The store in a schema of a PostgreSQL database: for fleets, and for jobs in one transaction with rows of the app. */
export class PostgresStore extends PostgresArea implements Store {
  readonly kind = 'postgres'
  readonly maxConcurrentCalls = 1
  readonly url = this.server.options.url
  readonly jobs = new PostgresJobStore(this.server)
  readonly workers = new PostgresWorkerStore(this.server)
  readonly jobSets = new PostgresJobSetStore(this.server)
  readonly search = new PostgresSearchStore(this.server)
  readonly cancellations = new PostgresCancellationStore(this.server)
  readonly tasks = new PostgresTaskStore(this.server)
  readonly ordered = new PostgresOrderedStore(this.server)
  readonly crons = new PostgresCronStore(this.server)
  readonly limits = new PostgresLimitStore(this.server)
  readonly events = new PostgresJobEventStore(this.server)
  readonly unique = new PostgresUniqueStore(this.server)
  readonly batches = new PostgresBatchStore(this.server)
  readonly metrics = new PostgresMetricStore(this.server)
  readonly results = new PostgresResultStore(this.server)
  readonly transfers = new PostgresOrderedTransferStore(this.server)

  /** `warn` gets a line when the store works with less than the server could do. */
  constructor(options: PostgresOptions, warn?: (message: string) => void) {
    super(new StoreServer(options, warn))
  }

  open(): Promise<void> {
    return this.server.open()
  }

  diagnose(): Promise<Finding[]> {
    return diagnose(this.server.options)
  }

  planMigration(): Promise<MigrationPlan> {
    return this.server.planMigration()
  }

  close(): Promise<void> {
    return this.server.close()
  }
}
