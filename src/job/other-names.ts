/** Hints for the options of other job queues. */

const LATER = 'performIn(seconds, …) or set({ wait: seconds })'

/** Names that other job queues, and Sidekiq in Ruby, use for the same option. */
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
  limiter: 'limit, where the job is defined',
  rateLimit: 'limit, where the job is defined',
  debounce: "unique: { onConflict: 'debounce' }",
  parent: 'hq.flow',
  children: 'hq.flow',
  deduplication: 'unique',
  singletonKey: 'unique: { by }',
  ttl: 'expiresIn',
  expireIn: 'expiresIn',
}
