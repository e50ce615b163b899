import { Alerts } from '../alerts/alerts.ts'
import { Batches } from '../batches/batches.ts'
import { type CancelAnswer, type CancelOptions, cancelJob } from '../cancellation/cancel.ts'
import { JOB, type Job, type JobReturning } from '../client/job.ts'
import type { CronInfo } from '../cron/crons.ts'
import { JobEvents, type JobEventsOptions } from '../events/events.ts'
import { AllJobs } from '../inspect/all-jobs.ts'
import type { BulkResult } from '../inspect/bulk.ts'
import { type DuplicateChanges, duplicateJob, editJob } from '../inspect/edit.ts'
import type { SetEntry } from '../inspect/entry.ts'
import { type Found, findJob } from '../inspect/find.ts'
import { Limits } from '../inspect/limits.ts'
import { ProcessSet } from '../inspect/process.ts'
import { Queue, type QueuedJob, type QueueSummary, summariesOf } from '../inspect/queue.ts'
import type { JobRecord } from '../inspect/record.ts'
import { type ResultOptions, resultOf } from '../inspect/result.ts'
import { RunningSet } from '../inspect/running.ts'
import { JobSet } from '../inspect/set.ts'
import { type Day, historyOf, type Stats, statsOf } from '../inspect/stats.ts'
import { type IterationInfo, iterationOf } from '../iterable/info.ts'
import { invalidOption } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'
import { checkOptions, checkText } from '../job/options.ts'
import { baseQueue, isPriorityName } from '../job/priority.ts'
import type { Jid } from '../job/result.ts'
import { markDeploy } from '../metrics/deploy.ts'
import { Metrics } from '../metrics/metrics.ts'
import { type OrderedTotals, orderedTotals } from '../ordered/totals.ts'
import type { Store } from '../store/contract.ts'
import type { TaskEvent } from '../tasks/event.ts'
import { messageText } from '../tasks/messages.ts'
import type { Task } from '../tasks/task.ts'
import { Tasks } from '../tasks/tasks.ts'
import { tasksWith } from '../tasks/with-meta.ts'
import { UniqueLocks } from '../unique/locks.ts'
import type { Runtime } from './runtime.ts'

/** Retries rows as they are. A task that can't be retried refuses all of them. */
async function retryIndexes(task: Task, indexes: readonly number[]): Promise<BulkResult> {
  try {
    const { rows } = await task.retry({ rows: indexes.map((index) => ({ index })) })
    return { done: rows, refused: indexes.length - rows }
  } catch (error) {
    return { done: 0, refused: indexes.length, error }
  }
}

/** The part of an app that reads and changes what is in its store. */
export class Inspection {
  readonly #app: Runtime
  /** Tracked tasks: imports, exports, and many jobs as one. */
  readonly tasks: Tasks
  /** Batches of jobs, and flows. */
  readonly batches: Batches
  /** What needs attention, and whether messages about it arrive. */
  readonly alerts: Alerts
  /** The jobs that ended, by class and time. */
  readonly metrics: Metrics
  /** The jobs of all states: searched, counted, and acted on. */
  readonly jobs: AllJobs
  /** Jobs that failed and will run again, by the time they are due. */
  readonly retries: JobSet
  /** Jobs that run later, by the time they are due. */
  readonly scheduled: JobSet
  /** Jobs that used up their retries, by the time they died. */
  readonly dead: JobSet
  /** Jobs that are done, by the time they finished: those with `keepFinished`. */
  readonly finished: JobSet
  /** The limits of jobs: those in use, and numbers that change without a deploy. */
  readonly limits: Limits
  /** The locks of unique jobs. */
  readonly uniqueLocks: UniqueLocks

  constructor(app: Runtime) {
    this.#app = app
    this.tasks = new Tasks(app)
    this.batches = new Batches(app)
    this.alerts = new Alerts(app)
    this.metrics = new Metrics(app)
    this.jobs = new AllJobs({
      app,
      tasksWith: (meta) => tasksWith(app, meta),
      messageText,
      retryRows: (task, indexes) => retryIndexes(this.tasks.get(task), indexes),
    })
    this.retries = new JobSet(app, 'retry')
    this.scheduled = new JobSet(app, 'schedule')
    this.dead = new JobSet(app, 'dead')
    this.finished = new JobSet(app, 'finished')
    this.limits = new Limits(app)
    this.uniqueLocks = new UniqueLocks(app)
  }

  /** The store; opened at first use. @throws UNKNOWN_STORE, INVALID_OPTION */
  get store(): Store {
    return this.#app.store
  }

  get log(): Logger {
    return this.#app.log
  }

  now(): number {
    return this.#app.now()
  }

  /**
   * Waits for the result of a job with `keepResult`, or of a task row, and returns it. The store notifies the waiting
   * process of a job's result; the event of a row is read again at growing intervals, up to one second.
   * @param job gives the type of the result, for a jid that was kept as a string; of a job without `keepResult` it does not
   * wait
   * @param jid the id that a push returned; null (client middleware stopped the push) has no result
   * @throws JOB_FAILED when the job will not run again, NO_RESULT when there is no result in time (default 60 seconds)
   */
  result<Result>(job: JobReturning<Result>, jid: string | null, options?: ResultOptions): Promise<Result>
  result<Result = unknown>(jid: Jid<Result> | string | null, options?: ResultOptions): Promise<Result>
  async result(...args: unknown[]): Promise<unknown> {
    const job = JOB[0](args[0]) ? (args.shift() as Job) : undefined
    const [jid, options = {}] = args
    return resultOf(this.#app, jid as string | null, options as ResultOptions, job?.definition)
  }

  /**
   * Returns the events of jobs in all processes, from now on or behind `after`, for `for await`. A recording begins with the
   * first reader and ends an hour after the last one. The loop ends when the app closes.
   *
   * @example for await (const { kind, jid } of hq.events({ jobs: ['HardJob'], kinds: ['died'] })) { … }
   * @throws INVALID_OPTION; the loop throws EVENTS_TRIMMED when the next event is not kept any more
   */
  events(options: JobEventsOptions = {}): JobEvents {
    return new JobEvents(this.#app, options)
  }

  async stats(): Promise<Stats & { ordered: OrderedTotals }> {
    const now = this.now()
    const [stats, ordered] = await Promise.all([statsOf(this.store, now), orderedTotals(this.store, now)])
    return { ...stats, ordered }
  }

  /** Resets the totals, or one of them, to zero. Daily figures stay. */
  async resetStats(...which: ('processed' | 'failed')[]): Promise<void> {
    for (const one of which.length > 0 ? which : (['processed', 'failed'] as const))
      await this.store.metrics.resetTotals(one)
  }

  /**
   * Processed and failed of each UTC day, newest first: today and the days before, or those before `from`.
   * @throws INVALID_OPTION: days is 1 to 1825
   */
  async history(days = 30, from: Date | string = new Date(this.now())): Promise<Day[]> {
    return historyOf(this.store, days, from)
  }

  /** Returns the queue of this name; it may be empty. @throws INVALID_OPTION for the name of a priority */
  queue(name: string): Queue {
    checkText('hq.queue: the name of a queue', name)
    if (isPriorityName(name)) {
      const base = baseQueue(name)
      const hint = `use hq.queue('${base}')`
      const message = `hq.queue: ${name} is a priority of queue ${base}: ${hint}, which has the jobs of all priorities`
      throw invalidOption(message, { option: 'queue', value: base, hint })
    }
    return new Queue(this.#app, name)
  }

  /** All queues, by name. */
  async *queues(): AsyncGenerator<Queue> {
    for (const { name } of await this.store.jobs.queues()) yield this.queue(name)
  }

  /** Returns name, size, latency (seconds) and `paused` of all queues, including empty paused ones, in one call. */
  async queueSummaries(): Promise<QueueSummary[]> {
    return summariesOf(this.store, this.now())
  }

  /** Returns the running worker processes, Highkiq's and Sidekiq's, by identity. */
  processes(): ProcessSet {
    return new ProcessSet(this.#app)
  }

  /** Returns the jobs that run now, longest first, as of the last heartbeats. */
  running(): RunningSet {
    return new RunningSet(this.#app)
  }

  /**
   * Cancels a job in any process: removes it if it waits, aborts `ctx.signal` if it runs. See CancelAnswer.
   * @throws INVALID_OPTION
   */
  cancel(jid: string, options?: CancelOptions): Promise<CancelAnswer> {
    return cancelJob(this.#app, jid, options)
  }

  /**
   * Gives a job of a queue or a job set other arguments, and changes nothing else; a job of a queue goes to its end.
   * `job` is its jid, or the job as it was read: then the edit applies only to this unchanged job. In a job with
   * `encrypt`, the last argument `'[encrypted]'` keeps the one that it has. Resolves with false if the job has moved.
   * @throws UNKNOWN_JID, INVALID_ARGS, ARGS_TOO_LARGE; INVALID_JOB for a row of a task and a job of Active Job
   */
  edit(job: string | SetEntry | QueuedJob, args: unknown[]): Promise<boolean> {
    return editJob(this.#app, job, args)
  }

  /**
   * Pushes a new job with the class, arguments and options of a waiting, running, dead or finished one, due now. The other
   * one stays. `changes` replaces its arguments, queue, priority or tags, and gives it a time. With other arguments it has
   * the lock that its class names.
   * @returns its id; null when client middleware stopped it
   * @throws UNKNOWN_JID, DECRYPTION_FAILED, INVALID_OPTION; INVALID_JOB for a row of a task; errors of a push
   */
  duplicate(job: string | JobRecord, changes?: DuplicateChanges): Promise<string | null> {
    return duplicateJob(this.#app, job, changes)
  }

  /** Finds a job: its state, its payload, and its event if it belongs to a task. Slow among millions of jobs. */
  async find(jid: string, options: { signal?: AbortSignal } = {}): Promise<Found & { event: TaskEvent | null }> {
    checkText('hq.find: a jid', jid)
    checkOptions('hq.find', options, { signal: 'signal' })
    const found = await findJob(this.#app, jid, options)
    return { ...found, event: await this.tasks.event(jid) }
  }

  /**
   * Marks a deploy in the charts, at this minute or at a Date. Several processes may call it at the same time.
   * @param label default: git's last commit, hash and subject
   * @returns false: the label was marked within the last minute, or this minute is marked
   * @throws INVALID_OPTION
   */
  deploy(label?: string, at?: Date): Promise<boolean> {
    return markDeploy(this.store, this.now(), label, at)
  }

  /** The names of all ordered queues in the store, in order. */
  orderedQueues(): Promise<string[]> {
    return this.store.ordered.queues()
  }

  /**
   * Returns the last saved progress of an iterable job; null before its first save or cancellation, and after its end.
   */
  async iteration(jid: string): Promise<IterationInfo | null> {
    checkText('hq.iteration: a jid', jid)
    return iterationOf(this.store, jid)
  }

  /** Returns all cron entries in the store, by name. */
  crons(): AsyncGenerator<CronInfo> {
    return this.#app.crons.list()
  }
}
