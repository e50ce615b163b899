/** The schemas of the OpenAPI document by name. */

import { EVENT_STATUSES, FILE_FORMATS, REJECTED_STATUSES, TASK_STATES } from '../index.ts'
import { LINK_RIGHTS } from './access/link.ts'
import { ABOUT_SCHEMAS } from './routes/about.ts'
import { CRON_SCHEMAS } from './routes/crons.ts'
import { JOB_SET_SCHEMAS } from './routes/job-sets.ts'
import { JOB_SUMMARY_SCHEMAS } from './routes/job-summary.ts'
import { METRICS_SCHEMAS } from './routes/metrics.ts'
import { PROCESS_SCHEMAS } from './routes/processes.ts'
import { QUEUE_SCHEMAS } from './routes/queues.ts'
import { RUNNING_SCHEMAS } from './routes/running.ts'
import { STATS_SCHEMAS } from './routes/stats.ts'
import { MAX_FAILURES, SETTING_MEMBERS, TASK_MEMBERS } from './routes/tasks/task-options.ts'
import { count, listOf, number, object, orNull, ref, type Schema, text, time } from './server/schema.ts'

export const JOB_STATES = ['queued', 'running', 'scheduled', 'retry', 'dead', 'backlog', 'ended', 'unknown'] as const

const id = { type: 'string', pattern: '^[0-9a-f]{16}$' }

const taskStatus = {
  id,
  name: text,
  job: text,
  queue: text,
  state: { enum: [...TASK_STATES] },
  run: { type: 'integer', minimum: 1 },
  runAt: { ...time, description: 'when the run began' },
  total: count,
  backlog: count,
  retrying: count,
  window: {
    type: 'integer',
    minimum: 1,
    description: 'the most rows (with rowsPerJob: jobs) in the queue and running at the same time',
  },
  rowsPerJob: orNull({ type: 'integer', minimum: 1 }),
  maxFailures: MAX_FAILURES,
  onMaxFailures: { enum: ['pause', 'cancel'] },
  reason: text,
  counts: object(Object.fromEntries(EVENT_STATUSES.map((status) => [status, count]))),
  percent: { type: 'number', minimum: 0, maximum: 100 },
  createdAt: time,
  finishedAt: orNull(time),
  ratePerSecond: { type: 'number', minimum: 0 },
  etaSeconds: orNull({ type: 'number', minimum: 0 }),
}

const integer = { type: 'integer' }
const payloads = { type: 'array', items: object({ payload: {}, score: number }) }

const shard = {
  shard: count,
  owner: orNull(text),
  length: count,
  fresh: count,
  retries: count,
  busy: count,
  processed: count,
  failed: count,
  lag: { ...number, minimum: 0, description: 'seconds that the first due id has waited' },
}

export const SCHEMAS: Record<string, Schema> = {
  Error: object({ error: ref('Problem') }),
  Problem: object(
    {
      code: { type: 'string', pattern: '^[A-Z_]+$', description: 'stable code; see the reference of errors' },
      message: text,
      details: { type: 'object' },
    },
    ['details'],
  ),
  NewJob: {
    type: 'object',
    description: 'Other members are copied to the payload.',
    properties: {
      class: { type: 'string', minLength: 1 },
      args: { type: 'array' },
      queue: text,
      at: { description: 'when: ISO 8601, or seconds since the epoch', type: ['string', 'number'] },
      in: { description: "from now: seconds, '5m', { minutes: 5 }", type: ['string', 'number', 'object'] },
      jid: text,
      retry: { type: ['boolean', 'integer'] },
      retryFor: { type: 'number' },
      expiresIn: { type: 'number' },
      tags: { type: 'array', items: text },
    },
    required: ['class', 'args'],
  },
  Pushed: object({ jid: orNull(text) }),
  AllPushed: object({ jids: { type: 'array', items: orNull(text) } }),
  Job: object({
    jid: text,
    state: { enum: [...JOB_STATES] },
    gaveUp: {
      type: 'boolean',
      description: 'true when the search reached its time limit, so that `state` is not certain',
    },
    queue: orNull(text),
    class: orNull(text),
    args: orNull({ type: 'array' }),
    tags: { type: 'array', items: text },
    createdAt: orNull(time),
    enqueuedAt: orNull(time),
    failedAt: orNull(time),
    retryCount: orNull(count),
    errorClass: orNull(text),
    errorMessage: orNull(text),
    job: orNull({
      ...ref('JobDetail'),
      description: 'its key is valid where `state` says the job is; empty for a running job',
    }),
    task: orNull(object({ id: text, index: count })),
    event: orNull(ref('TaskEvent')),
    result: { description: 'the result of its handler, if it is kept; else null' },
    failure: orNull({ type: 'object', description: 'why the job failed for good, if it is kept' }),
  }),
  JobCancelled: object({ jid: text, outcome: { enum: ['removed', 'signalled', 'requested'] } }),
  NewTask: {
    type: 'object',
    properties: {
      job: { type: 'string', minLength: 1 },
      args: { type: 'array', items: { type: 'array' }, description: 'a list of arguments for each row' },
      ...TASK_MEMBERS,
    },
    required: ['job', 'args'],
    additionalProperties: false,
  },
  TaskSettings: {
    type: 'object',
    description: 'Members that are left out stay unchanged.',
    properties: SETTING_MEMBERS,
    additionalProperties: false,
  },
  TaskCancel: object({ reason: text }, ['reason']),
  TaskRetry: object(
    {
      status: { type: 'array', items: { enum: [...REJECTED_STATUSES] }, description: 'default failed and error' },
      code: { ...orNull(text), description: 'only rows with this code; null: rows without a code' },
      otherCodes: { type: 'boolean', description: 'only rows with codes that /reasons counts together' },
      rows: {
        type: 'array',
        description: 'these rows instead, each with other arguments, or unchanged',
        items: object({ index: count, args: { type: 'array', description: 'default: the arguments it had' } }, [
          'args',
        ]),
      },
    },
    ['status', 'code', 'otherCodes', 'rows'],
  ),
  TaskRetried: object({
    run: { type: 'integer', minimum: 1 },
    rows: { ...count, description: 'rows that run again' },
    unchanged: { ...count, description: 'the part of them that came back unchanged' },
    finished: { ...count, description: 'rows that had finished; they stay unchanged' },
    open: { ...count, description: 'rows that wait or run; they stay unchanged' },
    dropped: { ...count, description: 'rows whose arguments are no longer kept; they stay unchanged' },
    refused: { ...count, description: 'rows of a corrected report that are still wrong; they stay unchanged' },
  }),
  TaskRetryDelayed: object({
    rows: { ...count, description: 'rows that the retry selects at this moment' },
    undo: { ...text, description: 'the token for POST …/retry/undo' },
    startsAt: time,
  }),
  TaskRetryAnswer: { anyOf: [ref('TaskRetried'), ref('TaskRetryDelayed')] },
  TaskRetryUndo: object({ undo: text }),
  TaskRetryUndone: object({ undone: { type: 'boolean', description: 'false when the retry has started' } }),
  TaskReasons: object({
    items: {
      type: 'array',
      items: object(
        {
          status: { enum: [...REJECTED_STATUSES] },
          code: { ...orNull(text), description: 'null for rows without a code, and for otherCodes' },
          otherCodes: {
            const: true,
            description: 'rows whose codes are not counted one by one (Redis, above 255 codes)',
          },
          count,
          samples: {
            type: 'array',
            items: object({ index: count, number: orNull(count), message: orNull(text) }),
          },
        },
        ['otherCodes'],
      ),
    },
    next: { type: 'null' },
  }),
  DryRun: object({
    format: { enum: [...FILE_FORMATS] },
    encoding: { ...orNull(text), description: 'the encoding in which its text is read' },
    columns: orNull({ type: 'array', items: text }),
    complete: { type: 'boolean', description: 'false when the file ended early, at the last of `problems`' },
    total: count,
    valid: count,
    invalid: count,
    problems: { type: 'array', items: object({ row: orNull(count), code: text, message: text }) },
    preview: { type: 'array', items: object({ row: count, value: {} }) },
  }),
  ImportResult: { anyOf: [ref('DryRun'), ref('TaskAccepted')] },
  TaskAccepted: object({ id, total: count }),
  TaskImported: object({ id, total: count, encoding: text, error: ref('Problem') }, ['encoding', 'error']),
  TaskStatus: object(taskStatus, ['reason']),
  TaskResumed: object({ ...taskStatus, hint: { ...text, description: 'why the task will pause again' } }, [
    'reason',
    'hint',
  ]),
  TaskStatusWithRejected: object(
    {
      ...taskStatus,
      format: { ...orNull({ enum: [...FILE_FORMATS] }), description: 'for an import: the format of its file' },
      export: { ...orNull({ enum: [...FILE_FORMATS] }), description: 'for an export: the format of its file' },
      rejected: listOf('TaskEvent'),
    },
    ['reason', 'rejected'],
  ),
  TaskList: listOf('TaskStatus'),
  TaskEvent: object(
    {
      index: count,
      jid: text,
      job: text,
      number: orNull(count),
      status: { enum: [...EVENT_STATUSES] },
      args: orNull({ type: 'array' }),
      attempts: count,
      code: orNull(text),
      messages: { type: 'array', items: object({ at: time, text }) },
      startedAt: orNull(time),
      finishedAt: orNull(time),
      result: {},
    },
    ['result'],
  ),
  TaskEventList: listOf('TaskEvent'),
  TaskLink: object({ token: text, rights: { enum: [...LINK_RIGHTS] }, url: text }),
  OrderedQueue: object({
    name: text,
    length: count,
    fresh: count,
    retries: count,
    busy: count,
    processed: count,
    failed: count,
    morgueLength: count,
    lag: shard.lag,
    paused: { type: 'boolean' },
    shards: { type: 'array', items: object(shard) },
  }),
  OrderedQueueList: listOf('OrderedQueue'),
  OrderedWaiting: object({
    id: text,
    shard: count,
    performIn: time,
    retryCount: { ...integer, minimum: -1, description: '-1: no failure; 0: one failure' },
    error: orNull(text),
    payloads,
    size: { ...count, description: 'number of its payloads, shown or not' },
  }),
  OrderedWaitingList: listOf('OrderedWaiting'),
  OrderedDead: object({ id: text, payloads, updatedAt: time, error: orNull(text), deaths: count }),
  OrderedDeadList: listOf('OrderedDead'),
  OrderedId: object({
    waiting: orNull(ref('OrderedWaiting')),
    inFlight: orNull(object({ shard: count, owner: text, fetchedAt: time })),
    dead: orNull(ref('OrderedDead')),
  }),
  OrderedIds: object({ ids: { type: 'array', items: { type: ['string', 'number'] } }, all: { const: true } }, [
    'ids',
    'all',
  ]),
  OrderedActed: object({ ids: { ...count, description: 'number of ids' } }),
  OrderedItem: object(
    {
      id: { type: ['string', 'number'], description: 'of the entity; jobs of one id never run in parallel' },
      payload: { description: "any JSON; default ''" },
      score: { ...number, description: 'its order among the payloads of its id; default now' },
      performIn: {
        type: ['number', 'string', 'object'],
        description: "earliest time: seconds from now, '5m', { minutes: 5 }; from 1e9 on seconds since 1970",
      },
      performAt: { type: ['string', 'number'], description: 'earliest time: ISO 8601, or seconds since 1970' },
      wake: { type: 'boolean', description: 'moves an id that is scheduled for later forward to this time' },
    },
    ['payload', 'score', 'performIn', 'performAt', 'wake'],
  ),
  OrderedPushed: object({ pushed: { ...count, description: 'number of jobs stored' } }),
  OrderedReshard: object({ shards: { ...integer, minimum: 1 } }),
  ...JOB_SUMMARY_SCHEMAS,
  ...JOB_SET_SCHEMAS,
  ...QUEUE_SCHEMAS,
  ...PROCESS_SCHEMAS,
  ...RUNNING_SCHEMAS,
  ...CRON_SCHEMAS,
  Health: object({ status: { const: 'ok' } }),
  ...ABOUT_SCHEMAS,
  ...STATS_SCHEMAS,
  ...METRICS_SCHEMAS,
}
