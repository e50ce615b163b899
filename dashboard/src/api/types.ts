/** The answers of `/api/v1`, from the schemas of the server. Times are ISO 8601 texts. */

import type { JobEvent as RecordedEvent } from '../../../src/events/job-event.ts'
import type { Json } from '../../../src/http/schemas.ts'

export interface Page<Item> {
  items: Item[]
  /** The `cursor` of the next page; null at the end. */
  next: string | null
}

/** A page of a search, with the number of scanned entries. It may be empty although `next` is set. */
export interface Searched<Item> extends Page<Item> {
  scanned: number
}

export type About = Json<'About'>
export type LiveStats = Json<'LiveStats'>
export type Alert = Json<'Alert'>
export type Diagnosis = Json<'Diagnosis'>
export type Day = Json<'Day'>
export type Throughput = Json<'Throughput'>
export type Gauges = Json<'Gauges'>
export type TopJobs = Json<'TopJobs'>
export type DeployComparison = Json<'DeployComparison'>
export type JobMetrics = Json<'JobMetrics'>

export type Queue = Json<'Queue'>
export type QueueClasses = Json<'QueueClasses'>
export type QueueSizes = Json<'QueueSizes'>
export type QueueWaits = Json<'QueueWaits'>
export type LiveQueue = Json<'LiveQueue'>
export type LiveProcess = Json<'LiveProcess'>
export type Process = Json<'Process'>
export type Batch = Json<'Batch'>
export type Limit = Json<'LimitInfo'>
export type BatchMember = Json<'BatchMember'>
export type UniqueLock = Json<'UniqueLock'>
export type CronEntry = Json<'CronEntry'>
export type RunningJob = Json<'Running'>
export type RunningJobs = Json<'RunningList'>

export type FoundJob = Json<'Job'>
export type JobState = FoundJob['state']
export type JobSummary = Json<'JobSummary'>
export type JobSetEntry = Json<'JobSetEntry'>
export type JobHit = Json<'JobHit'>
export type SearchedState = JobHit['state']
export type JobCounts = Json<'JobCounts'>
/** An event of the stream `/events`. */
export type JobEvent = Omit<RecordedEvent, 'at' | 'due'> & { at: string; due?: string }
export type JobEventKind = JobEvent['kind']
export type JobClass = Json<'JobClass'>
export type JobDetail = Json<'JobDetail'>
export type Pushed = Json<'Pushed'>
export type ErrorGroups = Json<'ErrorGroups'>
export type ErrorGroup = ErrorGroups['items'][number]
export type Acted = Json<'Acted'>
export type Duplicated = Json<'Duplicated'>
export type Sweeping = Json<'Sweeping'>

/** Only the answer about a single task has the formats of its files, and not every answer has `meta`. */
export type TaskStatus = Json<'TaskStatus'> &
  Partial<Pick<Json<'TaskStatusWithRejected'>, 'format' | 'export' | 'meta' | 'file' | 'onDone' | 'onFailure'>>
export type TaskState = TaskStatus['state']
export type TaskEvent = Json<'TaskEvent'>
export type EventStatus = TaskEvent['status']
export type Reasons = Json<'TaskReasons'>
export type Reason = Reasons['items'][number]
export type TaskRate = Json<'TaskRate'>
export type DryRun = Json<'DryRun'>
export type TaskImported = Json<'TaskImported'>
export type TaskRetried = Json<'TaskRetried'>
export type TaskRetryDelayed = Json<'TaskRetryDelayed'>

export type OrderedQueue = Json<'OrderedQueue'>
export type OrderedShard = OrderedQueue['shards'][number]
export type OrderedWaiting = Json<'OrderedWaiting'>
export type OrderedDead = Json<'OrderedDead'>
export type OrderedHistory = Json<'OrderedHistory'>
export type OrderedInFlight = Json<'OrderedInFlightList'>['items'][number]
export type OrderedId = Json<'OrderedId'>
