/** English: the language that the others are made from. */

export const en = {
  /** Stands in front of a column of ours when the file has a column of that name. */
  prefix: 'task ',
  columns: {
    row: 'row',
    'row key': 'row key',
    status: 'status',
    code: 'code',
    messages: 'messages',
    attempts: 'attempts',
    job: 'job',
    arguments: 'arguments',
  },
  statuses: {
    enqueued: 'enqueued',
    working: 'working',
    finished: 'finished',
    failed: 'failed',
    error: 'error',
    cancelled: 'cancelled',
  },
  messages: {
    error: 'error: {text}',
    split: 'the call with several rows failed: {text}; this row now runs alone',
    retry: 'waiting for retry {count} at {at}',
    discarded: 'the handler discarded the row: {text}',
    filtered: 'client middleware stopped the row',
    cancelled: 'cancelled',
    expired: 'the worker dropped the row: it could not start in time',
    interrupted: 'the worker stopped and requeued the row',
    rescued: 'the worker died and the row was requeued (consecutive crashes: {crashes})',
    crashed: 'the worker died and the row does not run again (consecutive crashes: {crashes})',
    deleted: 'the job was deleted by hand',
    killed: 'the job was killed by hand',
    'added-to-queue': 'the job was moved to its queue by hand',
    lost: 'error: the job of this row was not found',
    'deferred-timeout': 'error: no other system ended the row in time',
    dead: 'error: the job of this row is in the dead set, and how it ended was not recorded',
    'ran-elsewhere': 'error: the job of this row is gone, and its start was not recorded: whether it ran is unknown',
    'too-many-failures': 'too many rows were rejected: {rejected} of {ended} so far',
    dropped: '({messages} messages are not kept)',
    formula: '{field}: its formula has no result ({result})',
    unsaved: '{field}: its formula has no result (the file does not hold it: open and save it in Excel)',
  },
}

export type TaskTexts = typeof en
