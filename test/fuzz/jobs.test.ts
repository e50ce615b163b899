/**
 * Malformed jobs that other programs write into the store. A worker survives each of them, the jobs beside it run, and none
 * is lost: it runs, or it is kept in a queue or job set, or a death handler or the log names it.
 */

import { inspect } from 'node:util'
import fc from 'fast-check'
import { type Highkiq, iterate } from 'highkiq'
import { createHandler } from 'highkiq/http'
import { expect, test } from 'vitest'
import { readPayload } from '#dist/job/payload.js'
import { type Bench, bench, storeOfSuite, until } from '../engine/bench.ts'
import { caller } from '../http/api.ts'
import { ask } from '../redis/ask.ts'
import { byteEdits, editedBytes, editedJson, FUZZ_TIME, fuzz, type Json, jsonEdits } from './fuzz.ts'

const QUEUE = 'raw'
/** No task of the app. */
const TASK = 'f3b1c2d4e5a60718'
const JID = 'b4a577edbccf1d805744efa9'

const plain = {
  class: 'Runs',
  args: [1, 'two', { three: [3] }],
  queue: QUEUE,
  jid: JID,
  retry: true,
  created_at: 1_779_019_200_000,
  enqueued_at: 1_779_019_200_001,
}

/** Jobs as Sidekiq and Highkiq write them, with all members that have a meaning. */
const WRITTEN: Json[] = [
  plain,
  { ...plain, class: 'Fails', retry: 3, retry_queue: 'low', backtrace: 5, tags: ['a', 'b'], dead: true },
  {
    ...plain,
    class: 'Fails',
    retry_count: 2,
    failed_at: 1_779_019_200.5,
    retried_at: 1_779_019_300.5,
    error_class: 'Error',
    error_message: 'no',
    error_backtrace: 'eJyLVirNzcxLVYoFABQVA4k=',
    retry_for: 3600,
  },
  { ...plain, at: 1_779_019_200.5, expires_in: 60, hk_expires: 4e12, hk_postponed: [1_779_019_200, 1_779_019_260] },
  { ...plain, bid: 'f3b1c2d4e5a60718', hk_children: 'f3b1c2d4e5a60718', hk_child: 0, hk_crashes: 1, hk_stalls: 1 },
  { ...plain, hk_cron: 'nightly', hk_tick: 1_779_019_200_000, hk_lock: 'cron:nightly', log_level: 'debug' },
  { ...plain, hk_unique: 'until-success:5d41402abc4b2a76aaaaaa', hk_unique_ends: 4e12, hk_context: { tenant: 1 } },
  { ...plain, class: 'Locked', encrypt: true, args: [1, 'BAhTOhFTaWRla2lxOjpFbmMK'] },
  { ...plain, class: 'Rows', jid: `${TASK}00000001`, hk_task: TASK, hk_run: 0, hk_list: true },
  {
    ...plain,
    class: 'Sidekiq::ActiveJob::Wrapper',
    wrapped: 'Runs',
    args: [
      {
        job_class: 'Runs',
        job_id: '1',
        provider_job_id: null,
        queue_name: QUEUE,
        priority: null,
        arguments: [
          1,
          { _aj_globalid: 'gid://app/User/1' },
          { _aj_serialized: 'ActiveJob::Serializers::DateSerializer', value: '2026-01-01' },
        ],
        executions: 0,
        exception_executions: {},
        locale: 'en',
        timezone: 'UTC',
        enqueued_at: '2026-01-01T00:00:00Z',
        scheduled_at: null,
      },
    ],
  },
]

const NAMES = [
  ...new Set([
    ...WRITTEN.flatMap((job) => Object.keys(job as object)),
    'hk_rows',
    'hk_part',
    'hk_attempt',
    'hk_started',
  ]),
  ...['hk_result', 'hk_progress', 'hk_messages', 'discarded_at', 'priority', '__proto__', 'toJSON', 'then'],
]

/** A job: one of those that are written, or of those that the app pushed; its edits, and where it is put. */
const malformed = fc.record({
  which: fc.nat(),
  json: jsonEdits(NAMES),
  bytes: fc.oneof(
    { arbitrary: fc.constant([]), weight: 4 },
    byteEdits(['"', '\\', '{', '}', '[', ',', ':', '\0', '1']),
  ),
  to: fc.constantFrom('queue' as const, 'queue' as const, 'schedule' as const, 'retry' as const),
})

/** Defines an app with jobs of all kinds, and pushes them. `ran` gets the payload of each job that runs. */
async function app({ hq }: Bench, ran: string[]): Promise<void> {
  hq.server.use((ctx, next) => {
    ran.push(shown(ctx.payload))
    return next()
  })
  const queue = QUEUE
  const Runs = hq.job('Runs', { queue }, () => {})
  const Fails = hq.job('Fails', { queue, backtrace: true }, () => {
    throw new Error('no')
  })
  const Rows = hq.job('Rows', { queue }, (_ctx, row: unknown) => row)
  hq.job('Once', { queue, unique: true }, () => {})
  hq.job('Limited', { queue, limit: { concurrency: 1, by: (a: unknown) => String(a) } }, () => {})
  hq.job('Kept', { queue, keepResult: 60, keepFinished: true }, (_ctx, a: unknown) => a)
  hq.job('Tracked', { queue, track: true }, () => {})
  const Locked = hq.job('Locked', { queue, encrypt: true }, (_ctx, _id: number, _secret: string) => {})
  hq.iterable(
    'Steps',
    { queue },
    { enumerate: (_ctx, cursor: number | null) => iterate.array([1, 2], cursor), each: () => {} },
  )
  await Fails.performAsync()
  await Locked.performAsync(1, 'secret')
  for (const name of ['Once', 'Limited', 'Kept', 'Tracked', 'Steps']) await hq.push({ class: name, args: [1], queue })
  await hq.tasks.create(Rows, [[1], [2], [3]], { keepArgs: 'all' })
  await hq.tasks.create(Rows, [[1], [2], [3], [4]], { rowsPerJob: 2 } as never)
  await hq.batch({ onComplete: Runs }, async () => {
    await Runs.performAsync()
    await Fails.performAsync()
  })
}

/** Any value as a text with its members; what is nested deeper is cut. */
const shown = (value: unknown) =>
  inspect(value, { depth: 2, maxStringLength: null, breakLength: Number.POSITIVE_INFINITY })

/** Writes texts into the list or set as another program would: on Redis byte by byte. */
async function write(t: Bench, to: 'queue' | 'schedule' | 'retry', text: Buffer): Promise<void> {
  if (storeOfSuite() === 'Redis') {
    const { port, pathname } = new URL(t.url)
    const command = to === 'queue' ? ['LPUSH', `queue:${QUEUE}`] : ['ZADD', to, '1']
    await ask(Number(port), ['SELECT', pathname.slice(1)], [...command, text])
    return
  }
  const valid = text.toString()
  await t.hq.store.jobs.push(
    [to === 'queue' ? { to, queue: QUEUE, text: valid, end: 'back' } : { to, text: valid, score: 1 }],
    Date.now(),
  )
}

/** Returns the texts of all jobs in queues and job sets. */
async function kept({ hq }: Bench): Promise<string[]> {
  const { store } = hq
  const names = (await hq.queueSummaries()).map(({ name }) => name)
  const queued = await Promise.all(names.map((name) => store.jobs.peek(name, 0, 1000)))
  const limited = (await store.limits.list()).map(({ name }) => `limited:${name}` as const)
  const sets = ['schedule', 'retry', 'dead', 'finished', ...limited] as const
  const inSets = await Promise.all(sets.map((set) => store.jobSets.page(set, { limit: 1000 })))
  return [...queued.flat(), ...inSets.flat().map(({ text }) => text)]
}

/** Reads all lists of the HTTP API. The answers are checked against the OpenAPI document. */
async function readAll(hq: Highkiq): Promise<void> {
  const handle = createHandler(hq, { redact: ['two'] })
  const call = caller('http://localhost:7433', (request) => handle(request, { remote: '127.0.0.1' }))
  const paths = [
    '/jobs?limit=500',
    '/jobs/counts',
    '/running',
    '/stats',
    '/live-stats',
    '/limits',
    '/locks',
    '/tasks',
    '/batches',
  ]
  const sets = ['dead', 'retries', 'scheduled', 'finished'].flatMap((set) => [`/${set}?limit=500`, `/${set}/errors`])
  for (const path of [...paths, ...sets, '/queues', `/queues/${QUEUE}/jobs?limit=500`, `/jobs/${JID}`, '/classes']) {
    const { status, text } = await call('GET', `/api/v1${path}`)
    expect([200, 404], `${path}: ${text}`).toContain(status)
  }
}

test('malformed jobs run, are retried, or are kept, and the jobs beside them run', { timeout: FUZZ_TIME }, async () => {
  const jobs = fc.array(malformed, { minLength: 25, maxLength: 25 })
  await fuzz({ percent: 20, perRun: 25 }, jobs, async (jobs) => {
    const t = bench({ random: () => 0.5, encryption: { keys: { 1: Buffer.alloc(32, 1) }, active: 1 } })
    const ran: string[] = []
    const deaths: string[] = []
    t.hq.onDeath((payload) => void deaths.push(shown(payload)))
    await app(t, ran)
    const known = [...WRITTEN, ...(await t.hq.store.jobs.peek(QUEUE, 0, 1000)).map((text) => JSON.parse(text) as Json)]
    const texts: Buffer[] = []
    for (const [i, { which, json, bytes: edits, to }] of jobs.entries()) {
      const text = editedJson(known[which % known.length] as Json, json)
      // The mark comes last, where no edit removes it.
      const open = editedBytes(text.startsWith('{') ? text.slice(0, -1) : text, edits)
      const bytes = Buffer.concat([open, Buffer.from(`,"mark":"mark-${i}."}`)])
      // The SQL stores hold texts, and PostgreSQL none with a NUL.
      const malformed = storeOfSuite() === 'Redis' ? bytes : Buffer.from(bytes.toString().replaceAll('\0', '0'))
      texts.push(malformed)
      await write(t, to, malformed)
    }
    for (let n = 0; n < 5; n++) await t.hq.push({ ...plain, jid: `beside-${n}`, args: [] })
    await readAll(t.hq)

    const worker = await t.work({ queues: [QUEUE] })
    const isIdle = async () => {
      const due = await Promise.all(
        (['schedule', 'retry'] as const).map((set) => t.hq.store.jobSets.due(set, Date.now(), 1)),
      )
      const waits = (await t.hq.store.jobs.peek(QUEUE, 0, 1)).length + due.flatMap(({ entries }) => entries).length
      return waits === 0 && worker.busy === 0
    }
    await until(isIdle)
    await worker.stop()
    await readAll(t.hq)

    for (let n = 0; n < 5; n++) expect(ran.filter((text) => text.includes(`'beside-${n}'`))).toHaveLength(1)
    const ends = [...ran, ...deaths, ...(await kept(t)), ...t.log.lines.map((line) => shown(line))]
    const expired = t.log.lines.filter(({ message }) => message === 'dropped: expired').length
    const lost = texts.map(String).filter((_, i) => !ends.some((text) => text.includes(`mark-${i}.`)))
    // The rows of the app's tasks ran with the jobs that were copied.
    const isCopy = (text: string) => text.includes('"hk_task"') && !text.includes(`"${TASK}"`)
    const unexplained = lost.filter((text) => !isCopy(text) && !(expired > 0 && text.includes('"expires_in"')))
    expect(unexplained.length, `lost: ${unexplained.join('\n').slice(0, 5000)}`).toBe(0)
    // What is not a job is kept as it was.
    const dead = (await t.set('dead')).map(({ text }) => text.trimEnd())
    for (const text of texts.map(String)) if (!readPayload(text)) expect(dead).toContain(text.trimEnd())
    expect(faults(t).length, faults(t).join('\n').slice(0, 5000)).toBe(0)
    await t.hq.close()
  })
})

/** Errors that no code of ours throws on purpose. */
function faults(t: Bench): string[] {
  const isFault = (error: unknown) =>
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  return t.errors.flatMap(({ error }) => (isFault(error) ? [`${error.stack}`] : []))
}
