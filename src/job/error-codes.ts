/** Each code with its HTTP status. */
export const STATUS = {
  /**
   * An argument, payload or option of a push is not usable.
   * What to do: Correct the push: the message names the member.
   */
  INVALID_JOB: 400,
  /**
   * A job argument can't be stored as JSON without loss.
   * What to do: Pass plain JSON: the message has the path of the value.
   */
  INVALID_ARGS: 400,
  /**
   * The arguments of one job are larger than `maxArgsBytes`.
   * What to do: Store the data elsewhere and pass its id, or raise `maxArgsBytes`.
   */
  ARGS_TOO_LARGE: 413,
  /**
   * The encrypted argument of a job can't be read: its key is missing, or it was changed. The attempt fails.
   * What to do: Give the worker the key that encrypted it, then retry the job.
   */
  DECRYPTION_FAILED: 500,
  /**
   * An option of the app, a job, a worker or a task is wrong.
   * What to do: Correct the option: the message says what is right.
   */
  INVALID_OPTION: 400,
  /**
   * A name was registered twice.
   * What to do: Define each name once in an app.
   */
  DUPLICATE_JOB: 409,
  /**
   * No job of that name is registered here.
   * What to do: Check the name, and that the file which defines it is loaded.
   */
  UNKNOWN_JOB: 404,
  /**
   * No cron entry of that name is known.
   * What to do: Check the name with `highkiq cron list`, or start a worker that defines it.
   */
  UNKNOWN_CRON: 404,
  /**
   * No ordered queue of that name is known.
   * What to do: Check the name, or start a worker that defines it.
   */
  UNKNOWN_ORDERED: 404,
  /**
   * Another job has the lock of a unique job with `onConflict: 'raise'`. `details.jid` is that job.
   * What to do: Wait for the other job, or let `onConflict` answer its jid.
   */
  UNIQUE_CONFLICT: 409,
  /**
   * The event after the position of the reader (`details.after`) is not kept any more. HTTP: or the id is unknown.
   * What to do: Read on from the oldest event that is kept; the events between are gone.
   */
  EVENTS_TRIMMED: 410,
  /**
   * A queue has its `maxLength` of jobs. Of a bulk, `details.pushed` has the stored jobs and `details.notPushed` the others.
   * What to do: Push the others later, add workers, or raise `maxLength`.
   */
  QUEUE_FULL: 429,
  /**
   * The last run of a cron entry with `overlap: 'skip'` has not ended.
   * What to do: Wait until the last run has ended.
   */
  CRON_BUSY: 409,
  /**
   * The store URL has a scheme that Highkiq does not know.
   * What to do: Use a URL that begins with `sqlite:`, `redis:`, `rediss:` or `postgres:`, or register the scheme.
   */
  UNKNOWN_STORE: 500,
  /**
   * The package that the store needs is not installed: a SQLite driver, or `pg` for PostgreSQL.
   * What to do: SQLite: use Node 22.13 or newer, or install `libsql`. PostgreSQL: install `pg`.
   */
  NO_DRIVER: 500,
  /**
   * A bundler has moved the code of Highkiq away from its files: threads, the dashboard.
   * What to do: Keep `highkiq` out of the bundle, and install it where the bundle runs.
   */
  BUNDLED: 500,
  /**
   * A jobs file is TypeScript, this Node can't load it, and `tsx` is not installed.
   * What to do: Install `tsx`, use a newer Node, or compile the file.
   */
  NO_TSX: 500,
  /**
   * The store can't be opened, or refuses what it is asked to store: a damaged or newer file, a Redis key of another type.
   * What to do: Follow the message; `highkiq doctor` examines the store.
   */
  STORE_UNUSABLE: 500,
  /**
   * The disk (or the database's size limit) is full: nothing was stored.
   * What to do: Free space or raise the limit, then push again.
   */
  STORE_FULL: 507,
  /**
   * The store did not answer in time.
   * What to do: Try again; if it persists, run `highkiq doctor`.
   */
  STORE_TIMEOUT: 503,
  /**
   * Client middleware, or a handler of `onDeath` or `onExhausted`, did not answer in time. A due job is postponed.
   * What to do: Give network calls of the middleware or handler a shorter timeout.
   */
  MIDDLEWARE_TIMEOUT: 503,
  /**
   * The store can't be reached, or does not accept commands now.
   * What to do: Check the URL and the server; workers go on by themselves.
   */
  STORE_UNREACHABLE: 503,
  /**
   * The store was closed.
   * What to do: Do not use the app after `hq.close()`.
   */
  STORE_CLOSED: 503,
  /**
   * The store did not confirm a push; `maybePushed` says whether the job may be stored all the same.
   * What to do: Push `notPushed` again, and `maybePushed` with the same jids and `idempotent`.
   */
  PUSH_FAILED: 503,
  /**
   * The store has no transactions that can include rows of your app, or none is open, or it does not fit.
   * What to do: Use PostgreSQL or SQLite, and do what the message says; or push after the commit.
   */
  NO_TRANSACTION: 501,
  /**
   * A test runs a job, and none was pushed.
   * What to do: Push a job in the test before it runs one.
   */
  EMPTY_QUEUE: 404,
  /**
   * No task has that id.
   * What to do: Check the id; ended tasks are deleted after `keep`.
   */
  UNKNOWN_TASK: 404,
  /**
   * There is no such batch (any more). `details.bid` names it.
   * What to do: Check the id. Ended batches are deleted after a while, and results of a flow's children after its `keep`: push the flow again.
   */
  UNKNOWN_BATCH: 404,
  /**
   * All jobs of the batch have ended, or it was cancelled: no job can be added. `details.bid` is the batch.
   * What to do: Create another batch.
   */
  BATCH_ENDED: 409,
  /**
   * The task has ended or was cancelled: no row can be added.
   * What to do: Create another task, or retry its rows.
   */
  TASK_ENDED: 409,
  /**
   * Another caller is retrying rows of the task now, the task is being cancelled, or the call to resume still holds its lease.
   * What to do: Wait a moment and try again.
   */
  TASK_BUSY: 409,
  /**
   * The row has not ended, and its handler has not called `ctx.defer` in this run.
   * What to do: Call `ctx.defer` in the handler before the row is ended elsewhere.
   */
  NOT_DEFERRED: 409,
  /**
   * The task has no file: it was not created by `tasks.export`.
   * What to do: Use the id of an export; for rejected rows use `task.report`.
   */
  NOT_AN_EXPORT: 409,
  /**
   * The task has not ended: its file is not complete yet.
   * What to do: Wait until the task has ended, or download with `wait: true`.
   */
  TASK_NOT_DONE: 409,
  /**
   * Pages of the export were rejected, are no longer kept, or were never added (it was interrupted): its file would have gaps.
   * What to do: Retry the rejected pages, resume the export, or create a new one.
   */
  EXPORT_INCOMPLETE: 409,
  /**
   * Another producer resumed this task, this one's lease ran out, or its row is in a later run: it must not add rows.
   * What to do: If the task is `interrupted`, resume the task. Otherwise do nothing: the other producer adds the rows.
   */
  TASK_TAKEN_OVER: 409,
  /**
   * The file can't be read, or is not in the format that it claims. `details.row` names the row, if there is one.
   * What to do: Correct the file, or save it again in the format that its name says.
   */
  INVALID_FILE: 400,
  /**
   * `validate` threw an error. `details.row` names the row.
   * What to do: Mend `validate`: it must return issues, not throw.
   */
  VALIDATE_FAILED: 500,
  /**
   * The same bytes were imported within the last 24 hours. `details.task` is the id of that task.
   * What to do: Use that task, or import with `allowDuplicate`.
   */
  ALREADY_IMPORTED: 409,
  /**
   * There are more rows than `maxRows`.
   * What to do: Split the file, or raise `maxRows`.
   */
  TOO_MANY_ROWS: 413,
  /**
   * A report or export can't be written.
   * What to do: Check the path, its rights and the free space.
   */
  REPORT_FAILED: 500,
  /**
   * The attempt ran longer than the job's `timeout`.
   * What to do: Make the attempt shorter, or raise `timeout`.
   */
  JOB_TIMEOUT: 500,
  /**
   * The thread of a job died while the job ran: it exited, ran out of memory, or had an uncaught error.
   * What to do: Read the message; give the job less data, or the process more memory.
   */
  THREAD_DIED: 500,
  /**
   * The job will not run again, so it has no result. `details` has `class`, `message` and `code` of its error.
   * What to do: Find the job with `highkiq job JID`, mend the cause, and retry it.
   */
  JOB_FAILED: 422,
  /**
   * The job has not ended in time, is unknown, or its result was not kept.
   * What to do: Check the jid and `keepResult`, or wait longer.
   */
  NO_RESULT: 404,
  /**
   * The process is part of another program and accepts no signals through the store.
   * What to do: Stop the program itself.
   */
  EMBEDDED_PROCESS: 409,
  /**
   * The job was cancelled.
   * What to do: Nothing, or push the job again.
   */
  JOB_CANCELLED: 409,
  /**
   * The worker is stopping, and the time for running jobs is over.
   * What to do: Nothing: the job runs again on another worker.
   */
  SHUTDOWN: 503,
  /**
   * This process lost its lease, because it was frozen or disconnected for too long; other workers have its jobs.
   * What to do: Find out what froze the process: long synchronous code, memory, the network.
   */
  LEASE_LOST: 409,
  /**
   * A target of the option `alerts` did not accept a message. It is tried again.
   * What to do: Check the target with `highkiq alerts test`.
   */
  ALERT_NOT_SENT: 502,
  /**
   * HTTP: a parameter or the body is wrong.
   * What to do: Correct the request: the message names the parameter.
   */
  INVALID_REQUEST: 400,
  /**
   * HTTP: the Idempotency-Key was used before, for another body or other parameters. `details.task` is its task, if there is one.
   * What to do: Use a new key for another request.
   */
  IDEMPOTENCY_KEY_REUSED: 422,
  /**
   * HTTP: the body is incomplete: the client disconnected, or the end of the form is missing.
   * What to do: Send the body again.
   */
  BODY_BROKEN_OFF: 400,
  /**
   * HTTP: the body stopped arriving, or arrived too slowly.
   * What to do: Send the body again, over a faster connection.
   */
  BODY_TOO_SLOW: 408,
  /**
   * HTTP: the login is missing or wrong, or the link does not open this task, has expired or was revoked.
   * What to do: Log in, or ask for a new link. If no link works, give the server the `secret` of the app that makes the links.
   */
  UNAUTHORIZED: 401,
  /**
   * HTTP: this address needs a login, and the server has none; or a page of another site sent the request.
   * What to do: Give the server a login, send the request from its own page, or use a bearer token.
   */
  FORBIDDEN: 403,
  /**
   * HTTP: no route has this path.
   * What to do: Check the path and the prefix of the mount.
   */
  UNKNOWN_ROUTE: 404,
  /**
   * HTTP: no waiting or running job has that id.
   * What to do: Check the jid; a job that is done leaves no trace.
   */
  UNKNOWN_JID: 404,
  /**
   * HTTP: the task had no such delayed retry within the last hour.
   * What to do: Check the id, or look at the task itself.
   */
  UNKNOWN_RETRY: 404,
  /**
   * HTTP: the search for a job took too long.
   * What to do: Give the key or the queue of the job.
   */
  SEARCH_TOO_LONG: 503,
  /**
   * HTTP: no living process has that identity.
   * What to do: List the living ones with `highkiq processes`.
   */
  UNKNOWN_PROCESS: 404,
  /**
   * HTTP: this server, or the link that was used, is read-only.
   * What to do: Use a server or a link that allows changes.
   */
  READ_ONLY: 403,
  /**
   * HTTP: this path does not allow that method; the header `Allow` names the allowed ones.
   * What to do: Use a method that `Allow` names.
   */
  METHOD_NOT_ALLOWED: 405,
  /**
   * HTTP: the route has no answer of a type in `Accept`.
   * What to do: Ask for a type that the route has.
   */
  NOT_ACCEPTABLE: 406,
  /**
   * HTTP: the body is larger than the limit.
   * What to do: Send less, or raise the limit.
   */
  BODY_TOO_LARGE: 413,
  /**
   * HTTP: the route does not accept a body of that type.
   * What to do: Set the right `Content-Type`.
   */
  UNSUPPORTED_TYPE: 415,
  /**
   * HTTP: too many wrong logins, uploads, streams or downloads; the header `Retry-After` says when to try again.
   * What to do: Wait as long as `Retry-After` says.
   */
  TOO_MANY_REQUESTS: 429,
  /**
   * HTTP: an unexpected error, which is in the server's log.
   * What to do: Read the server's log.
   */
  INTERNAL_ERROR: 500,
} as const

export type ErrorCode = keyof typeof STATUS
