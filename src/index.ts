/// <reference types="node" preserve="true" />

/**
 * Highkiq: background jobs for Node.js.
 *
 * @module highkiq
 * @example
 * import { Highkiq } from 'highkiq'
 * export const hq = new Highkiq()
 * export const HardJob = hq.job('HardJob', async (ctx, name: string) => { ctx.log.info({ name }, 'working hard') })
 * await HardJob.performAsync('bob')
 * await hq.worker().run()
 */

// Alerts
export type { Alert, AlertKind, Thresholds } from './alerts/alert.ts'
export type { Alerts, OpenAlert, TestResult } from './alerts/alerts.ts'
export type {
  AlertOptions,
  AlertTarget,
  EmailTarget,
  SlackTarget,
  WebhookTarget,
} from './alerts/options.ts'
export type { QuietHours } from './alerts/quiet-hours.ts'
export type { QueueOptions, RedisClientOptions } from './app/options.ts'
// The app
export {
  type DeathHandler,
  type ErrorClass,
  type ErrorHandler,
  type FatalHandler,
  Highkiq,
  type HighkiqOptions,
  type LifecycleHandler,
  type TitlePiece,
} from './app.ts'
// Batches and flows
export type { Batch, Batches, BatchPageOptions, BatchState, MemberSummary } from './batches/batches.ts'
export type { OpenBatch, PushedFlow } from './batches/create.ts'
export type { AnyJob, BatchCallback, BatchOptions, CheckedFlow, FlowJob, FlowOptions } from './batches/options.ts'
// Cancelling
export type { CancelAnswer, CancelOptions } from './cancellation/cancel.ts'
// Jobs
export type { PoolClientOf, SqlClient, SqlFunction, SqlPool, SqlPoolClient, SqlRows } from './client/app-transaction.ts'
export type { BulkOptions, Rows as BulkRows } from './client/bulk.ts'
export type { Job, JobReturning } from './client/job.ts'
export type { OrderedPushed } from './client/push-target.ts'
export type { BulkRequest, ClientChain, ClientMiddleware, Pusher, Target as ViaTarget } from './client/pusher.ts'
export type { PushOptions, PushRequest } from './client/request.ts'
export type { ActiveJobSetOptions, SetOptions } from './client/set-options.ts'
// What runs by the clock
export type { Cron, CronInfo, CronRunInfo } from './cron/crons.ts'
export type { CronOptions, Missed, Overlap } from './cron/entry.ts'
export type { JobEvents, JobEventsOptions } from './events/events.ts'
export type { JobEvent, JobEventKind } from './events/job-event.ts'
// Looking and acting
export type {
  AllJobs,
  JobAction,
  JobHit,
  JobsFilter,
  SearchedState,
  SearchView,
  StateCount,
} from './inspect/all-jobs.ts'
export type { BulkResult, SweepOptions } from './inspect/bulk.ts'
export type { DuplicateChanges } from './inspect/edit.ts'
export type { KillOptions, SetEntry } from './inspect/entry.ts'
export type { ErrorGroup, ErrorGroups, GroupingLimits, GroupingOptions } from './inspect/error-groups.ts'
export type { Found, JobState } from './inspect/find.ts'
export type { LimitFigures, LimitInfo, LimitPageOptions, Limits } from './inspect/limits.ts'
export type { Search as JobSearch } from './inspect/pattern.ts'
export type { CapsuleInfo, Process, ProcessSet, ProcessTotals } from './inspect/process.ts'
export type { Queue, QueuedJob, QueuePageOptions, QueueSummary, QueueSweepOptions } from './inspect/queue.ts'
export type { JobRecord } from './inspect/record.ts'
export type { ResultOptions } from './inspect/result.ts'
export type { Running, RunningSet } from './inspect/running.ts'
export type { JobSet, NewEntry } from './inspect/set.ts'
export type { Day, Stats } from './inspect/stats.ts'
export type { Page, PageOptions } from './inspect/walk.ts'
// Iterable jobs
export type { IterableContext, IterableJob, IterationView, Pair, Pairs } from './iterable/definition.ts'
export type { IterationInfo } from './iterable/info.ts'
export { type CsvOptions, type ItemPage, iterate, type PageCursor } from './iterable/sources.ts'
export type { RetryDelay } from './job/backoff.ts'
export type { Chain, Middleware } from './job/chain.ts'
export type {
  AbortCode,
  BatchOfJob,
  ChildResult,
  DeferOptions,
  JobContext,
  Progress,
  TaskOfJob,
} from './job/context.ts'
export type {
  Handler,
  JobDefinition,
  JobOptions,
  LogLevel,
  ProcessOptions,
  RetryIn,
  ThreadOptions,
  Validating,
} from './job/definition.ts'
export type { Duration } from './job/duration.ts'
export type { EncryptionKey, EncryptionOptions } from './job/encryption.ts'
// Errors to catch, and errors to throw
export {
  BatchFailure,
  BusinessFailure,
  Discard,
  type ErrorCode,
  HighkiqError,
  Kill,
  PushError,
  Release,
  Snooze,
} from './job/errors.ts'
export type { KeepFinished, KeepFinishedOptions } from './job/keep-finished.ts'
export type { JobLimit, LimitKind, LimitOptions, LimitSettings, NamedLimit, WithinOptions } from './job/limit.ts'
export type { BareLogger, Logger, LogLine } from './job/logger.ts'
export type { AttemptMessage } from './job/messages.ts'
export type { Payload, Sidekiq, Wire } from './job/payload.ts'
export type { ContextOptions, ContextStorage } from './job/push-contexts.ts'
export type { Jid } from './job/result.ts'
export type { SlotOptions } from './job/slots.ts'
export type { OnConflict, Unique, UniqueOptions } from './job/unique.ts'
export type { DeployMark } from './metrics/deploy.ts'
// Metrics
export type {
  ComparedFigures,
  ComparedJob,
  ComparisonOptions,
  DeployComparison,
  Regression,
} from './metrics/deploy-comparison.ts'
export type { JobFigures, Percentiles } from './metrics/figures.ts'
export type {
  JobMetrics,
  Metrics,
  PeriodOptions,
  QueueMetrics,
  QueueSizes,
  Step,
  TopJob,
  TopJobs,
  TopOptions,
  Waits,
} from './metrics/metrics.ts'
export type { OrderedSnapshot, StatsSnapshot } from './metrics/snapshots.ts'
export type { OrderedBatchInfo, OrderedContext, OrderedEntry } from './ordered/context.ts'
export type { OrderedDeath, OrderedHandler, OrderedItem, OrderedOptions, OrderedRetryIn } from './ordered/definition.ts'
export type { DeadId, OrderedList, OrderedListOptions, ScoredValue, WaitingId } from './ordered/entry.ts'
// Ordered queues
export type { OrderedIds } from './ordered/ids.ts'
export type { OrderedJob } from './ordered/job.ts'
export type { Morgue } from './ordered/morgue.ts'
export type {
  FoundId,
  InFlightId,
  OrderedCancelAnswer,
  OrderedQueue,
  OrderedStats,
  ShardStats,
} from './ordered/queue.ts'
export type { OrderedFigures, OrderedTotals } from './ordered/totals.ts'
export type { Waiting, WaitingListOptions } from './ordered/waiting.ts'
export {
  EVENT_STATUSES,
  type EventStatus,
  TASK_STATES,
  type TaskState,
  UNSUCCESSFUL_STATUSES,
  type UnsuccessfulStatus,
} from './store/contract.ts'
// Tracked tasks
export type { Columns as ImportColumns } from './tasks/columns.ts'
export type { EndedRow } from './tasks/deferred.ts'
export type { DryRun, DryRunProblem, ProblemGroup } from './tasks/dry-run.ts'
export type { CodeFilter, ReasonCount, TaskEvent } from './tasks/event.ts'
export type { DownloadOptions, ExportFileOptions } from './tasks/export.ts'
export type { ImportRows } from './tasks/import.ts'
export type { LinkOptions, LinkRights } from './tasks/link.ts'
export type { ListOptions, TaskPage } from './tasks/list.ts'
export type { ImportedFile } from './tasks/meta.ts'
export type { CallbackJob, TaskOptions } from './tasks/options.ts'
export type { ReportOptions } from './tasks/report.ts'
export type { CorrectedRow, Retried, RetryOptions } from './tasks/retry-selection.ts'
export { FILE_FORMATS, type FileFormat } from './tasks/spreadsheet/format.ts'
export type { Source as ImportSource } from './tasks/spreadsheet/source.ts'
export {
  type AddOptions,
  type EventsOptions,
  hasTooManyFailures,
  type ResumeOptions,
  type Task,
  type TaskSettings,
  type TaskStatus,
  type WaitOptions,
} from './tasks/task.ts'
export type { CreateOptions, ExportOptions, ImportOptions, Tasks } from './tasks/tasks.ts'
export type { UniqueLockInfo, UniqueLocks } from './unique/locks.ts'
export { VERSION } from './version.generated.ts'
// Workers
export type { Lifecycle as LifecycleEvent, WorkerAbout } from './worker/engine.ts'
export type { Worker } from './worker/lifecycle/worker.ts'
export type { RunOptions } from './worker/lifecycle/worker-process.ts'
export type {
  CapsuleOptions,
  CapsuleSettings,
  Promote,
  QueueShard,
  ReadyShard,
  ShardScheduler,
  Splitter,
  WorkerOptions,
  WorkerSettings,
} from './worker/options.ts'
export type { FetchOrder, QueueOption } from './worker/queue-order.ts'
