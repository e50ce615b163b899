/** Hints for the options of other job queues. */

const OF_PARENT = 'onChildFailure, where the parent is named in hq.flow'
const OTEL = 'instrument(hq) of highkiq/otel'
const LATER = 'performIn(seconds, …) or set({ wait: seconds })'

/** Names that other job queues, and Sidekiq in Ruby, use for an option of a job or of a push. */
export const OTHER_NAMES: Readonly<Record<string, string>> = {
  delay: LATER,
  in: LATER,
  performIn: LATER,
  perform_in: LATER,
  performAt: 'performAt(time, …) or set({ waitUntil: time })',
  startAfter: 'set({ wait }) or set({ waitUntil })',
  runAt: 'set({ waitUntil })',
  wait_until: 'set({ waitUntil })',
  attempts: 'retry: the number of attempts after the first one',
  maxAttempts: 'retry: the number of attempts after the first one',
  retries: 'retry',
  retryLimit: 'retry',
  retryDelay: 'retryIn, where the job is defined',
  backoff: 'retryIn, where the job is defined',
  retry_in: 'retryIn, where the job is defined',
  jobId: 'set({ jid })',
  id: 'set({ jid })',
  repeat: 'hq.cron',
  lifo: 'priority',
  removeOnComplete: 'keepFinished, where the job is defined',
  removeOnFail: 'dead: false',
  stackTraceLimit: 'backtrace',
  sizeLimit: 'maxArgsBytes of new Highkiq()',
  keepLogs: 'track: true, where the job is defined: its task keeps the messages of ctx.message(text)',
  limiter: 'limit, where the job is defined, or for a whole queue: queues: { mail: { limit } } of new Highkiq()',
  concurrency:
    'limit: { concurrency }, where the job is defined, or concurrency of hq.worker for the slots of a worker',
  rateLimit: 'limit, where the job is defined',
  debounce: "unique: { onConflict: 'debounce' }",
  parent: 'hq.flow',
  children: 'hq.flow',
  deduplication: 'unique',
  singletonKey: 'unique: { by }',
  ttl: 'expiresIn',
  expireIn: 'expiresIn',
  failParentOnFailure: OF_PARENT,
  ignoreDependencyOnFailure: OF_PARENT,
  removeDependencyOnFailure: OF_PARENT,
  continueParentOnFailure: OF_PARENT,
}

/** Names that other job queues use for an option of the app. */
export const OTHER_APP_NAMES: Readonly<Record<string, string>> = {
  connection: "url: 'redis://…', and redis for more options of ioredis",
  prefix: 'namespace',
  limiter: 'limit',
  telemetry: OTEL,
  removeOnComplete: 'defaultJobOptions: { keepFinished }',
  removeOnFail: 'defaultJobOptions: { dead: false }',
  attempts: 'defaultJobOptions: { retry }',
  backoff: 'defaultJobOptions: { retryIn }',
}

const OF_APP = 'an option of new Highkiq()'
const OF_JOB = 'an option of the job'

/** Names that other job queues use for an option of a worker, and options of other parts. */
export const OTHER_WORKER_NAMES: Readonly<Record<string, string>> = {
  connection: `url, ${OF_APP}`,
  url: `url, ${OF_APP}`,
  store: `store, ${OF_APP}`,
  logger: `logger, ${OF_APP}`,
  prefix: `namespace, ${OF_APP}`,
  namespace: `namespace, ${OF_APP}`,
  limiter: 'limit, an option of a job, of a queue or of new Highkiq()',
  lockDuration: 'leaseSeconds',
  lockRenewTime: 'leaseSeconds',
  stalledInterval: 'leaseSeconds',
  maxStalledCount: `maxCrashes, ${OF_JOB}`,
  removeOnComplete: `keepFinished, ${OF_JOB}`,
  removeOnFail: `dead: false, ${OF_JOB}`,
  useWorkerThreads: `thread: true, ${OF_JOB}`,
  settings: `retryIn, ${OF_JOB}`,
  autorun: 'worker.start(), without which a worker does not run',
  name: 'tag',
  telemetry: OTEL,
}

/** Names that other job queues use for the parts of a flow. */
export const OTHER_FLOW_NAMES: Readonly<Record<string, string>> = {
  name: 'job, a job that hq.job returned',
  queueName: 'job: Job.set({ queue })',
  opts: 'job: Job.set({ … })',
  data: 'args, an array',
  prefix: `namespace, ${OF_APP}`,
  failParentOnFailure: 'onChildFailure of the parent',
  ignoreDependencyOnFailure: 'onChildFailure of the parent',
  removeDependencyOnFailure: 'onChildFailure of the parent',
  continueParentOnFailure: 'onChildFailure of the parent',
}

/** Names that other job queues use for the parts of a limit. */
export const OTHER_LIMIT_NAMES: Readonly<Record<string, string>> = {
  max: "rate, as in { rate: 100, per: '1m' }",
  duration: "per, as in { rate: 100, per: '1m' }",
  interval: "per, as in { rate: 100, per: '1m' }",
  groupKey: 'by, a function of the arguments',
}

/** Names that other job queues use for an option of a cron entry. */
export const OTHER_CRON_NAMES: Readonly<Record<string, string>> = {
  tz: 'timeZone',
  every: "the spec, as in hq.cron('rates', '@every 90s', FetchRates)",
  pattern: "the spec, as in hq.cron('nightly', '30 3 * * *', CleanUp)",
  cron: "the spec, as in hq.cron('nightly', '30 3 * * *', CleanUp)",
  data: 'args, an array',
}
