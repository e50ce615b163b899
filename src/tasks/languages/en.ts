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
    split: 'the call with several rows broke: {text}; from now on this row runs alone',
    retry: 'waiting for retry {count} at {at}',
    discarded: 'discarded: {text}',
    filtered: 'stopped by client middleware',
    cancelled: 'cancelled',
    expired: 'dropped: it could not begin in time',
    interrupted: 'interrupted: its worker was stopped, it goes back to its queue',
    rescued: 'its process died ({crashes} in a row), it goes back to its queue',
    crashed: 'its process died {crashes} times in a row: given up',
    deleted: 'deleted by hand',
    killed: 'killed by hand',
    requeued: 'sent to its queue by hand',
    lost: 'error: its job is nowhere to be found',
    dead: 'its job is in the dead set: another program put it there',
    'ran-elsewhere': 'a worker that does not report to tasks took it: whether it ran is not known',
    'too-many-failures': '{rejected} of {ended} rows were rejected: more than is tolerated',
    dropped: '({messages} messages are not kept)',
    formula: '{field}: its formula has no result ({result})',
    unsaved: '{field}: its formula has no result (the file does not hold it: open and save it in Excel)',
  },
}

export type TaskTexts = typeof en
