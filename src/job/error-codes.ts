/** Each code with its HTTP status. */
export const STATUS = {
  /** An argument, payload or option of a push is not usable. */
  INVALID_JOB: 400,
  /** A job argument can't be stored as JSON without loss. */
  INVALID_ARGS: 400,
  /** The arguments of one job are larger than `maxArgsBytes`. */
  ARGS_TOO_LARGE: 413,
  /** The encrypted argument of a job can't be read: its key is missing, or it was changed. The attempt fails. */
  DECRYPTION_FAILED: 500,
  /** An option of the app, a job, a worker or a task is wrong. */
  INVALID_OPTION: 400,
  /** A name was registered twice. */
  DUPLICATE_JOB: 409,
  /** No job of that name is registered here. */
  UNKNOWN_JOB: 404,
  /** No cron entry of that name is known. */
  UNKNOWN_CRON: 404,
  /** No ordered queue of that name is known: check the name, or start a worker that defines it. */
  UNKNOWN_ORDERED: 404,
  /** Another job has the lock of a unique job with `onConflict: 'raise'`. `details.jid` is that job. */
  UNIQUE_CONFLICT: 409,
  /** The next event of `hq.events` is not kept any more. `details.after` is the position of the reader. */
  EVENTS_TRIMMED: 410,
  /** A queue has its `maxLength` of jobs. Of a bulk, `details.pushed` has the stored jobs and `details.notPushed` the others. */
  QUEUE_FULL: 429,
  /** The last run of a cron entry with `overlap: 'skip'` has not ended. */
  CRON_BUSY: 409,
  /** The store URL has a scheme that Highkiq does not know. */
  UNKNOWN_STORE: 500,
  /** No SQLite driver is installed. */
  NO_DRIVER: 500,
  /** A jobs file is TypeScript, this Node can't load it, and `tsx` is not installed. */
  NO_TSX: 500,
  /** The store can't be opened, or refuses what it is asked to store: a damaged or newer file, a Redis key of another type. */
  STORE_UNUSABLE: 500,
  /** The disk (or the database's size limit) is full: nothing was stored. */
  STORE_FULL: 507,
  /** The store did not answer in time. */
  STORE_TIMEOUT: 503,
  /** Client middleware did not answer in time: its due job is postponed. */
  MIDDLEWARE_TIMEOUT: 503,
  /** The store can't be reached, or does not accept commands now. */
  STORE_UNREACHABLE: 503,
  /** The store was closed. */
  STORE_CLOSED: 503,
  /** A push could not be stored. `jids`, `maybePushed` and `notPushed` describe it. */
  PUSH_FAILED: 503,
  /** The store has no transactions that can include rows of your app. */
  NO_TRANSACTION: 501,
  /** A test runs a job, and none was pushed. */
  EMPTY_QUEUE: 404,
  /** No task has that id. */
  UNKNOWN_TASK: 404,
  /** There is no such batch (any more). `details.bid` names it. */
  UNKNOWN_BATCH: 404,
  /** All jobs of the batch have ended, or it was cancelled: no job can be added. `details.bid` is the batch. */
  BATCH_ENDED: 409,
  /** The task has ended or was cancelled: no row can be added. */
  TASK_ENDED: 409,
  /** Another caller is retrying rows of the task now, or the task is being cancelled. */
  TASK_BUSY: 409,
  /** The row has not ended, and its handler has not called `ctx.defer` in this run. */
  NOT_DEFERRED: 409,
  /** The task has no file: it was not created by `tasks.export`. */
  NOT_AN_EXPORT: 409,
  /** The task has not ended: its file is not complete yet. */
  TASK_NOT_DONE: 409,
  /** Pages of the export were rejected, or are no longer kept: its file would have gaps. */
  EXPORT_INCOMPLETE: 409,
  /** Another producer resumed this task: this one must stop adding rows. */
  TASK_TAKEN_OVER: 409,
  /** The file can't be read, or is not in the format that it claims. `details.row` names the row, if there is one. */
  INVALID_FILE: 400,
  /** `validate` threw an error. `details.row` names the row. */
  VALIDATE_FAILED: 500,
  /** The same bytes were imported within the last 24 hours. `details.task` is the id of that task. */
  ALREADY_IMPORTED: 409,
  /** There are more rows than `maxRows`. */
  TOO_MANY_ROWS: 413,
  /** A report or export can't be written. */
  REPORT_FAILED: 500,
  /** The attempt ran longer than the job's `timeout`. */
  JOB_TIMEOUT: 500,
  /** The thread of a job died while the job ran: it exited, ran out of memory, or had an uncaught error. */
  THREAD_DIED: 500,
  /** The job will not run again, so it has no result. `details` has `class`, `message` and `code` of its error. */
  JOB_FAILED: 422,
  /** The job has not ended in time, is unknown, or its result was not kept. */
  NO_RESULT: 404,
  /** The process is part of another program and accepts no signals through the store. */
  EMBEDDED_PROCESS: 409,
  /** The job was cancelled. */
  JOB_CANCELLED: 409,
  /** The worker is stopping, and the time for running jobs is over. */
  SHUTDOWN: 503,
  /** This process lost its lease, because it was frozen or disconnected for too long; other workers have its jobs. */
  LEASE_LOST: 409,
  /** HTTP: a parameter or the body is wrong. */
  INVALID_REQUEST: 400,
  /** HTTP: the Idempotency-Key was used before, for another body or other parameters. `details.task` is its task, if there is one. */
  IDEMPOTENCY_KEY_REUSED: 422,
  /** HTTP: the body is incomplete: the client disconnected, or the end of the form is missing. */
  BODY_BROKEN_OFF: 400,
  /** HTTP: the body stopped arriving, or arrived too slowly. */
  BODY_TOO_SLOW: 408,
  /** HTTP: the login is missing or wrong, or the link does not open this task or has expired. */
  UNAUTHORIZED: 401,
  /** HTTP: this address needs a login, and the server has none; or a page of another site sent the change. */
  FORBIDDEN: 403,
  /** HTTP: no route has this path. */
  UNKNOWN_ROUTE: 404,
  /** HTTP: no waiting or running job has that id. */
  UNKNOWN_JID: 404,
  /** HTTP: the task had no such delayed retry within the last hour. */
  UNKNOWN_RETRY: 404,
  /** HTTP: the search for a job took too long: give its key or its queue. */
  SEARCH_TOO_LONG: 503,
  /** HTTP: no living process has that identity. */
  UNKNOWN_PROCESS: 404,
  /** HTTP: this server, or the link that was used, is read-only. */
  READ_ONLY: 403,
  /** HTTP: this path does not allow that method; the header `Allow` names the allowed ones. */
  METHOD_NOT_ALLOWED: 405,
  /** HTTP: the route has no answer of a type in `Accept`. */
  NOT_ACCEPTABLE: 406,
  /** HTTP: the body is larger than the limit. */
  BODY_TOO_LARGE: 413,
  /** HTTP: the route does not accept a body of that type. */
  UNSUPPORTED_TYPE: 415,
  /** HTTP: too many wrong logins, uploads or streams; the header `Retry-After` says when to try again. */
  TOO_MANY_REQUESTS: 429,
  /** HTTP: an unexpected error, which is in the server's log. */
  INTERNAL_ERROR: 500,
} as const

export type ErrorCode = keyof typeof STATUS
