/**
 * Why the server refuses a request, by the code of the error, in English. `CODE` is the title; `CODE.PROBLEM` or
 * `CODE.what` says what happened and what to do.
 */

import { en as fileProblems } from '../../../../src/i18n/file-problems.js'

export const refusals = {
  READ_ONLY: 'This server is read-only',
  'READ_ONLY.what': 'Nothing can be changed here. Use a server that allows changes.',
  'READ_ONLY.link': 'This link only shows its task. Ask for a link that allows changes.',
  'READ_ONLY.link-rights': 'Its links are read-only, too: create a link that only shows the task.',
  UNAUTHORIZED: 'You are logged out',
  'UNAUTHORIZED.what': 'Reload this page and log in.',
  FORBIDDEN: 'The server does not allow this request',
  'FORBIDDEN.other-site':
    'It seems to come from a page of another site. Open the dashboard at the server’s own address. Behind a proxy, let it pass on the header Host.',
  'FORBIDDEN.no-login':
    'A server without a login accepts requests from its own machine only. Open http://localhost there, or give the server a login (auth, or highkiq web --token).',
  STORE_UNREACHABLE: 'The store does not answer',
  'STORE_UNREACHABLE.what': 'Check that the store runs and that the server can reach it, then try again.',
  STORE_TIMEOUT: 'The store did not answer in time',
  'STORE_TIMEOUT.what': 'Try again. If it persists, run highkiq doctor.',
  STORE_FULL: 'The store is full',
  'STORE_FULL.what': 'Nothing was stored. Free space or raise the limit, then try again.',
  STORE_UNUSABLE: 'The store refuses this action',
  'STORE_UNUSABLE.unchanged':
    'The job stays as it is. Perhaps a key of the store holds a value of another type: run highkiq doctor.',
  INVALID_REQUEST: 'The request is not valid',
  'INVALID_REQUEST.cursor': 'This page of the list is no longer available. Start again from the first page.',
  'INVALID_REQUEST.hidden-args':
    'Parts of the arguments are hidden here, so they can’t be edited. Edit the job in your app.',
  'INVALID_REQUEST.hidden-tags':
    'Parts of the tags are hidden here, so they can’t be edited. Edit the job in your app.',
  INVALID_OPTION: 'A value is not valid',
  'INVALID_OPTION.cursor': 'This page of the list is no longer available. Start again from the first page.',
  'INVALID_OPTION.in-the-past': 'The time must be in the future.',
  'INVALID_OPTION.rows-not-kept': 'The task has not kept its finished rows. Only the rejected rows can be downloaded.',
  'INVALID_OPTION.no-schema':
    'The rows were validated by the job {job}, whose file this server has not loaded. Load it: highkiq web -r FILE.',
  'INVALID_OPTION.burst-in-window':
    'A burst has no meaning with the window of this limit, which lets all its jobs start at once.',
  'INVALID_OPTION.burst-without-rate': 'A burst needs a rate: set the rate, too, or leave the burst empty.',
  'INVALID_OPTION.sidekiq-process': 'This is a process of Sidekiq, which can’t change its concurrency while it runs.',
  'INVALID_OPTION.unique': 'The job {job} can’t be unique here: push it with unique: false.',
  'INVALID_OPTION.unknown-lock':
    'The job {job} is unique, and only the app that defines it knows its lock. Load its file: highkiq web -r FILE.',
  'INVALID_OPTION.made-arguments':
    'The app that defines this entry makes its arguments. Load its file: highkiq web -r FILE.',
  'INVALID_OPTION.long-pattern': 'A pattern with * may have at most {most} characters.',
  'INVALID_OPTION.long-part':
    'A part of a pattern with ? or [ ] may have at most {most} characters: split it with a *.',
  'INVALID_OPTION.no-path':
    '“{path}” is not a path of an argument. Write for example 0.customer, or *.customer for any argument.',
  INVALID_JOB: 'The job is refused',
  'INVALID_JOB.finished': 'The job has finished: add it again with other arguments.',
  'INVALID_JOB.row': 'The job is a row of a task: retry the row in its task.',
  'INVALID_JOB.tracked': 'The job has a record in a task: cancel it, and add it with other arguments.',
  'INVALID_JOB.tracked-unique': 'A job with track can’t be unique: leave out track, or push it with unique: false.',
  'INVALID_JOB.active-job': 'The job belongs to Active Job: change it in Rails.',
  'INVALID_JOB.unreadable': 'It is not a readable job, so it can’t run: delete it.',
  INVALID_ARGS: 'The arguments are refused',
  'INVALID_ARGS.no-lock-value':
    'The job {job} is unique by {path}, and its arguments have no such value: add it to them.',
  ARGS_TOO_LARGE: 'The arguments are too large',
  'ARGS_TOO_LARGE.what':
    'The job has {bytes} bytes, and at most {most} are allowed. Store the data elsewhere and pass its id.',
  INVALID_FILE: 'The file is refused',
  ...fileProblems,
  ALREADY_IMPORTED: 'The same file was imported before',
  'ALREADY_IMPORTED.what': 'It is task {task}. Look there, or import the file again on purpose.',
  TOO_MANY_ROWS: 'The file has too many rows',
  'TOO_MANY_ROWS.what': 'At most {maxRows} are accepted: split the file.',
  BODY_TOO_LARGE: 'The request is too large',
  'BODY_TOO_LARGE.what': 'At most {limit} bytes are accepted: send less at a time, or raise the limits of the server.',
  BODY_BROKEN_OFF: 'The request arrived incomplete',
  'BODY_BROKEN_OFF.what': 'Send it again.',
  BODY_TOO_SLOW: 'The upload was too slow',
  'BODY_TOO_SLOW.what': 'Send it again, over a faster connection.',
  TOO_MANY_REQUESTS: 'Too many requests',
  'TOO_MANY_REQUESTS.what': 'Try again in a moment.',
  'TOO_MANY_REQUESTS.open':
    '{limit} are open at the same time, which is the limit. Try again when one of them has ended.',
  TASK_BUSY: 'The task is busy',
  'TASK_BUSY.retrying': 'Another retry of its rows is running. Try again in a moment.',
  'TASK_BUSY.cancelling': 'It is being cancelled. Try again when that has ended.',
  'TASK_BUSY.overtaken': 'Another retry began meanwhile. Rows of this one that run again: {rows}. Check the others.',
  TASK_ENDED: 'The task has ended',
  'TASK_ENDED.what': 'It can’t be paused, changed or cancelled any more. Its rejected rows can be retried.',
  UNKNOWN_TASK: 'This task does not exist any more',
  'UNKNOWN_TASK.what': 'It was deleted, or the address is wrong.',
  UNKNOWN_JID: 'This job is not here any more',
  'UNKNOWN_JID.what': 'It ran, was moved or was deleted. Reload the list.',
  'UNKNOWN_JID.running': 'It is running now: only waiting and dead jobs can be edited.',
  UNKNOWN_JOB: 'This class of jobs is not known here',
  'UNKNOWN_JOB.what':
    '“{job}” is not defined by this server. Check the name, or load the file that defines it: highkiq web -r FILE.',
  UNKNOWN_BATCH: 'This batch does not exist any more',
  'UNKNOWN_BATCH.what': 'Ended batches are deleted after a while.',
  UNKNOWN_PROCESS: 'This process has ended',
  'UNKNOWN_PROCESS.what': 'Reload the list.',
  UNKNOWN_CRON: 'This cron entry does not exist any more',
  'UNKNOWN_CRON.what': 'Start a worker that defines it, or reload the list.',
  UNKNOWN_ORDERED: 'This ordered queue is not known here',
  'UNKNOWN_ORDERED.what': 'Check the name, or start a worker that defines it.',
  EMBEDDED_PROCESS: 'This process is part of another program',
  'EMBEDDED_PROCESS.what': 'Stop or quiet it in that program.',
  BATCH_ENDED: 'The batch has ended',
  'BATCH_ENDED.what': 'It can’t be changed any more.',
  CRON_BUSY: 'The last run has not ended',
  'CRON_BUSY.what': 'Its job is {jid}. Wait until it has ended, or cancel it.',
  UNIQUE_CONFLICT: 'Another job has the lock',
  'UNIQUE_CONFLICT.what': 'It is job {jid}. Wait until it has ended, or release its lock.',
  QUEUE_FULL: 'The queue is full',
  'QUEUE_FULL.what': 'The queue {queue} has its maximum length, {maxLength}. Try again later, or choose another queue.',
  SEARCH_TOO_LONG: 'The search takes too long',
  'SEARCH_TOO_LONG.what': 'Open the job from its list instead.',
  INTERNAL_ERROR: 'The server failed',
  'INTERNAL_ERROR.what': 'The log of the server has the reason.',
} satisfies Record<string, string>
