/** English: the language that the others are made from. */

import type { Phrase } from '../../../i18n/phrase.js'

export const en = {
  // Header and footer
  live: 'Live',
  'live.off': 'Not live',
  'live.asking': 'Every 5 seconds',
  'live.done': 'Done',
  'live.gone': 'Deleted',
  theme: 'Light or dark',
  language: 'Language',
  sent: 'sent {when}',
  sentFile: '{file}, sent {when}',
  'sent.now': 'just now',
  foot: 'This link shows only this task.',

  // The list of a submitter's tasks
  mine: 'My tasks',
  'mine.none': 'There are no tasks here.',
  'mine.foot': 'This link shows only your tasks.',
  'mine.older': 'Older tasks',

  // Progress
  progress: 'Progress',
  of: { one: 'of {n} row is processed', other: 'of {n} rows are processed' },
  'left.adding': 'Rows are still arriving',
  'left.paused': 'Paused',
  'left.cancelling': 'Stopping',
  'left.cancelled': 'Stopped',
  'left.interrupted': 'The upload was interrupted. The rows that arrived are being processed.',
  'left.brokenOff': 'The upload was interrupted. Only the rows that arrived were processed.',
  'left.working': 'In progress',
  'left.soon': 'Less than a minute left',
  'left.minutes': { one: 'About {n} minute left', other: 'About {n} minutes left' },
  'left.hours': { one: 'About {n} hour left', other: 'About {n} hours left' },
  'left.done': 'All rows are done',
  'left.correct': { one: '{n} row is left to correct', other: '{n} rows are left to correct' },
  'left.ours': 'All rows have run. We will fix the remaining ones.',
  'left.gone': 'This task was deleted',
  'why.paused': 'This is paused for now. The waiting rows run when it continues.',
  'why.pausedFor': 'Paused: {reason}. The waiting rows run when it continues.',
  'why.stopped': 'Stopped: {reason}',

  // Rows by status
  finished: 'Done',
  'finished.what': 'Nothing more to do for these rows',
  failed: 'Need a correction',
  'failed.what': 'See below what to change',
  error: 'Stopped by an error on our side',
  'error.what': 'We are looking into it. You need not do anything.',
  enqueued: 'Still waiting',
  'enqueued.what': 'You can close this page and come back',
  cancelled: 'Not run',
  'cancelled.what': 'These rows were stopped',

  // Rows to correct
  fix: 'What to correct',
  'fix.soFar': { one: '{n} row so far, by reason', other: '{n} rows so far, by reason' },
  'fix.rows': { one: '{n} row, by reason', other: '{n} rows, by reason' },
  'reason.none': 'No reason was given',
  'reason.others': 'For other reasons: see the file',
  'reason.rows': { one: 'Row {rows}.', other: 'Rows {rows}.' },
  'reason.more': 'Rows {rows} and {n} more.',
  'reason.also': 'Also: {texts}.',
  'reason.example': 'Row {row}:',
  empty: 'empty',

  // Download and upload
  finish: 'Finish the rest',
  'finish.download': 'Download the refused rows. The file gives the reason for each.',
  'finish.correct': 'Correct them in that file.',
  'finish.send': 'Send it back. Only these rows run again; nothing is done twice.',
  download: { one: 'Download {n} row', other: 'Download {n} rows' },
  send: 'Send corrected file',
  sending: 'Sending…',
  'finish.ours': {
    one: '{n} row in the file was stopped by an error on our side: leave it as it is, and it runs again with the others.',
    other:
      '{n} rows in the file were stopped by an error on our side: leave them as they are, and they run again with the others.',
  },
  'finish.more': 'Rows are still being processed, so more may be refused. The file holds all rows refused so far.',
  'again.rows': { one: '{n} row will run again.', other: '{n} rows will run again.' },
  'again.none': 'No row runs again.',
  'again.refused': { one: '{n} row in it is still not right.', other: '{n} rows in it are still not right.' },
  'again.unchanged': { one: '{n} row came back as it was.', other: '{n} rows came back as they were.' },
  'again.finished': { one: '{n} row in it is done already.', other: '{n} rows in it are done already.' },
  'again.dropped': { one: '{n} row could not be run again.', other: '{n} rows could not be run again.' },
  'wrong.offline': 'It could not be sent: are you online? Try again.',
  'wrong.at': 'The problem is in row {row}.',
  'wrong.saveAgain': 'Save it as CSV or XLSX and send it again.',
  'wrong.INVALID_FILE': 'This file can’t be read.',
  'wrong.TASK_BUSY': 'Another file is being processed just now. Try again in a moment.',
  'wrong.TASK_ENDED': 'This task has already ended.',
  'wrong.BODY_TOO_LARGE': 'This file is too large.',
  'wrong.BODY_BROKEN_OFF': 'The upload was interrupted. Send the file again.',
  'wrong.BODY_TOO_SLOW': 'The upload was too slow. Send the file again.',
  'wrong.TOO_MANY_ROWS': 'This file has too many rows.',
  'wrong.TOO_MANY_REQUESTS': 'The server is receiving too many files. Try again in a moment.',
  'wrong.READ_ONLY': 'Nothing can be changed here.',
  'wrong.UNAUTHORIZED': 'This link no longer works. Ask for a new one.',
  'wrong.UNKNOWN_TASK': 'This task was deleted.',
  'wrong.other': 'It did not work.',

  // Cancelling
  stop: 'Stop this…',
  'stop.any': 'Stop this?',
  'stop.rows': { one: 'Stop {n} row that waits?', other: 'Stop {n} rows that wait?' },
  'stop.what': 'Finished rows stay finished. Waiting rows do not run; you can send them again later.',
  'stop.yes': 'Stop',
  'stop.yesRows': { one: 'Stop {n} row', other: 'Stop {n} rows' },
  'stop.no': 'Keep running',

  // Broken links and errors
  'dead.title': 'This link does not work',
  'dead.what': 'It is incomplete, was revoked, has ended, or its task was deleted. Ask for a new one.',
  'broken.title': 'This page does not work at the moment',
  'broken.what': 'Try again in a few minutes. If it persists, tell the people who gave you this address.',

  // The login page
  login: 'Log in',
  'login.token': 'Token',
  'login.which': 'The token with which this server was started (--token, HIGHKIQ_WEB_TOKEN, or auth in the app).',
  'login.wrong': 'This token is wrong.',
  'login.wait': 'Too many wrong tokens came from here. Try again in {n} s.',
  'login.needed': 'You are not logged in',
  'login.neededWhat': 'Log in, and open this page again.',
} satisfies Record<string, Phrase>

export type Word = keyof typeof en
export type Texts = Record<Word, Phrase>
