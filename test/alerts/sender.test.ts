import type { AlertOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { alertPlan } from '#dist/alerts/options.js'
import { AlertSender, type SenderOptions } from '#dist/alerts/sender.js'
import { storedStates } from '#dist/alerts/stored-states.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { type Bench, bench } from '../engine/bench.ts'
import { receiver } from './receivers.ts'

const NOON = Date.UTC(2026, 4, 18, 12)

/** An app whose time stands still. Its jobs wait and no process runs, which needs attention. */
function stopped(start = NOON) {
  let time = start
  const t = bench({ clock: { now: () => time } })
  const sent: unknown[] = []
  return {
    ...t,
    sent,
    async waits(jobs = 3) {
      await t.hq.pushBulk({ class: 'A', args: Array.from({ length: jobs }, () => []) })
    },
    pass(seconds: number) {
      time += seconds * 1000
    },
    at(iso: string) {
      time = Date.parse(iso)
    },
    sender: (options: AlertOptions, more: Partial<SenderOptions> = {}) => senderOf(t, options, more),
  }
}

let locks = 0

/** The service of a worker. Each has a lock of its own, so that they all lead. */
function senderOf({ hq, log, errors }: Bench, options: AlertOptions, more: Partial<SenderOptions>) {
  const report = (error: unknown, about: Record<string, unknown>) => errors.push({ error: error as Error, about })
  const app = { store: hq.store, now: () => hq.now(), report, log }
  const lock = new LeaderLock(() => hq.store, `alerts ${locks++}`, { seconds: 60 })
  return new AlertSender(app, { plan: alertPlan(options), lock, ...more })
}

test('a problem is sent once when it has lasted, and once when it has been over for as long', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const sender = t.sender(
    { to: [{ webhook: url, headers: { authorization: 'Bearer x' } }], app: 'shop' },
    { publicUrl: 'https://shop.example/jobs/' },
  )
  await t.waits()
  await sender.run()
  t.pass(59)
  await sender.run()
  expect(got.all).toEqual([])
  t.pass(1)
  for (let n = 0; n < 3; n++) await sender.run()
  expect(got.all).toHaveLength(1)
  const [{ headers, body } = { headers: {}, body: undefined }] = got.all
  expect(headers).toMatchObject({ authorization: 'Bearer x', 'content-type': 'application/json' })
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    app: 'shop',
    at: '2026-05-18T12:01:00.000Z',
    title: '[shop] 1 problem: No worker is running',
    begun: [
      {
        kind: 'no-process',
        level: 'error',
        title: 'No worker is running',
        text: '3 jobs wait. Start one: highkiq work -r ./jobs.ts',
        url: 'https://shop.example/jobs/busy',
        since: '2026-05-18T12:00:00.000Z',
        until: null,
        details: { waiting: 3 },
      },
    ],
    over: [],
    test: false,
  })
  // More jobs are the same problem.
  await t.waits(5)
  t.pass(600)
  await sender.run()
  await t.hq.queue('default').clear()
  await sender.run()
  t.pass(59)
  await sender.run()
  expect(got.all).toHaveLength(1)
  t.pass(1)
  await sender.run()
  await sender.run()
  expect(got.all).toHaveLength(2)
  expect(got.all[1]?.body).toMatchObject({
    title: '[shop] 1 over: No worker is running',
    begun: [],
    over: [{ kind: 'no-process', since: '2026-05-18T12:00:00.000Z', until: '2026-05-18T12:12:00.000Z' }],
  })
})

test('a worker that leads after another one repeats nothing, and knows what is over', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const options: AlertOptions = { to: [{ webhook: url }], after: 0 }
  await t.waits()
  await t.sender(options).run()
  expect(got.all).toHaveLength(1)
  const next = t.sender(options)
  await next.run()
  t.pass(3600)
  await next.run()
  expect(got.all).toHaveLength(1)
  await t.hq.queue('default').clear()
  await t.sender(options).run()
  expect(got.all).toHaveLength(2)
  expect(got.all[1]?.body).toMatchObject({ begun: [], over: [{ kind: 'no-process' }] })
})

test('each of two apps with different targets on one store sends to its own, and one leader serves both processes of an app', async () => {
  const t = stopped()
  const [a, b, both] = [await receiver(), await receiver(), await receiver()]
  const report = (error: unknown, about: Record<string, unknown>) => t.errors.push({ error: error as Error, about })
  const app = { store: t.hq.store, now: () => t.hq.now(), report, log: t.log }
  // The order of the targets does not matter.
  const options: AlertOptions[] = [
    { app: 'a', to: [{ slack: a.url }, { webhook: both.url }], after: 0 },
    { app: 'a', to: [{ webhook: both.url }, { slack: a.url }], after: 0 },
    { app: 'b', to: [{ slack: b.url }], after: 60, thresholds: { 'queue-unserved': false } },
  ]
  const senders = options.map((one) => new AlertSender(app, { plan: alertPlan(one) }))
  const round = () => Promise.all(senders.map((sender) => sender.run()))
  await t.waits()
  await round()
  await round()
  expect([a, b, both].map(({ got }) => got.all.length)).toEqual([1, 0, 1])
  const since = t.hq.now()
  t.pass(60)
  await round()
  await round()
  expect([a, b, both].map(({ got }) => got.all.length)).toEqual([1, 1, 1])
  expect(await t.hq.alerts.now()).toMatchObject([{ kind: 'no-process', since: new Date(since) }])
  await t.hq.queue('default').clear()
  await round()
  t.pass(60)
  await round()
  expect([a, b, both].map(({ got }) => got.all.length)).toEqual([2, 2, 2])
  for (const sender of senders) await sender.stop()
  expect(t.errors).toEqual([])
})

test('a state that no worker has renewed for 30 days is not listed any more', async () => {
  const t = stopped()
  const [before, after] = [await receiver(), await receiver()]
  await t.waits()
  await t.sender({ to: [{ webhook: before.url }], after: 0 }).run()
  expect(await storedStates(t.hq.store)).toHaveLength(1)
  t.pass(30 * 86_400)
  await t.sender({ to: [{ webhook: after.url }], after: 0 }).run()
  const [state, ...others] = await storedStates(t.hq.store)
  expect(others).toEqual([])
  expect(Object.keys(state?.targets ?? {})).toHaveLength(1)
})

test('a message is sent once when several workers lead at the same time', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const all = Array.from({ length: 5 }, () => t.sender({ to: [{ webhook: url }], after: 0 }))
  const round = () => Promise.all(all.map((sender) => sender.run()))
  for (let n = 0; n < 3; n++) {
    await t.waits()
    await round()
    await round()
    expect(got.all).toHaveLength(2 * n + 1)
    await t.hq.queue('default').clear()
    await round()
    await round()
    expect(got.all).toHaveLength(2 * n + 2)
  }
})

test('a message whose worker ended between writing and sending is sent by the next one, 15 seconds later', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const options: AlertOptions = { to: [{ webhook: url }], after: 0 }
  await t.waits()
  const killed = t.sender(options, { send: () => new Promise(() => {}) })
  void killed.run()
  await expect.poll(() => storedStates(t.hq.store)).toHaveLength(1)
  const next = t.sender(options)
  t.pass(14)
  await next.run()
  expect(got.all).toEqual([])
  t.pass(1)
  await next.run()
  await next.run()
  expect(got.all).toHaveLength(1)
})

test('a message that was sent but not recorded is sent once more, with the same id', async () => {
  const t = stopped()
  const options = async () => ({ to: [{ webhook: (await server).url }], after: 0 })
  const server = receiver()
  const { got } = await server
  await t.waits()
  const { deliver } = await import('#dist/alerts/delivery.js')
  const gone = t.sender(await options(), {
    send: async (...about) => {
      await deliver(...about)
      await new Promise(() => {})
    },
  })
  void gone.run()
  await got.atLeast(1)
  t.pass(15)
  const next = t.sender(await options())
  for (let n = 0; n < 3; n++) await next.run()
  expect(got.all).toHaveLength(2)
  expect(got.all[1]?.body.id).toBe(got.all[0]?.body.id)
})

test('a target that answers 500 is tried again after waits that double, and reported once without its address', async () => {
  const t = stopped()
  const { url, got } = await receiver([500, 500, 302, 200])
  const sender = t.sender({ to: [{ slack: url }], after: 0 })
  await t.waits()
  for (const [wait, tries] of [
    [0, 1],
    [14, 1],
    [1, 2],
    [29, 2],
    [1, 3],
    [59, 3],
    [1, 4],
    [3600, 4],
  ] as const) {
    t.pass(wait)
    await sender.run()
    expect(got.all).toHaveLength(tries)
  }
  expect(t.errors).toHaveLength(1)
  const [{ error, about } = { error: undefined, about: {} }] = t.errors
  expect(error).toMatchObject({
    code: 'ALERT_NOT_SENT',
    message: expect.stringMatching(/^alerts: slack 127\.0\.0\.1:\d+: it answered 500$/),
  })
  expect(JSON.stringify([t.errors, error?.stack, about, t.log.lines])).not.toContain('a-secret-path')
  expect(t.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^alerts: .* has its message, after 4 tries$/),
  )
})

test('a problem that ends while a target fails is sent to it as over, because the failed try may have arrived', async () => {
  const t = stopped()
  const [good, bad] = [await receiver(), await receiver([503, 200])]
  const sender = t.sender({ to: [{ webhook: good.url }, { webhook: bad.url }], after: 0 })
  await t.waits()
  await sender.run()
  await t.hq.queue('default').clear()
  for (let n = 0; n < 3; n++) {
    t.pass(3600)
    await sender.run()
  }
  expect(good.got.all).toHaveLength(2)
  expect(bad.got.all.map(({ body }) => [body.begun.length, body.over.length])).toEqual([
    [1, 0],
    [0, 1],
  ])
})

test('a target that never answers delays no other one, and ends with its worker', async () => {
  const t = stopped()
  const [good, silent] = [await receiver(), await receiver([0])]
  const sender = t.sender({ to: [{ webhook: silent.url }, { webhook: good.url }], after: 0 })
  await t.waits()
  const running = sender.run()
  await Promise.all([good.got.atLeast(1), silent.got.atLeast(1)])
  await sender.stop()
  await running
  expect(t.errors).toEqual([])
})

test('quiet hours hold messages back: at their end only what still lasts is sent', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const loud = await receiver()
  const sender = t.sender({
    to: [{ webhook: url }, { webhook: loud.url, quietHours: false }],
    quietHours: { from: '22:00', to: '07:00' },
    timeZone: 'Europe/Berlin',
    after: 0,
  })
  // 22:30 in Berlin
  t.at('2026-05-18T20:30:00Z')
  await t.waits()
  await sender.run()
  t.pass(3600)
  await t.hq.queue('default').clear()
  await sender.run()
  expect(loud.got.all).toHaveLength(2)
  t.pass(3600)
  await t.waits()
  await sender.run()
  t.at('2026-05-19T04:59:59Z')
  await sender.run()
  expect(loud.got.all).toHaveLength(3)
  expect(got.all).toEqual([])
  t.pass(1)
  await sender.run()
  await sender.run()
  expect(got.all).toHaveLength(1)
  expect(got.all[0]?.body).toMatchObject({
    over: [],
    begun: [{ kind: 'no-process', since: '2026-05-18T22:30:00.000Z' }],
  })
})

test('a problem that is back before each target knew of its end is a new one to those that did', async () => {
  const t = stopped()
  const [loud, quiet] = [await receiver(), await receiver()]
  const night = { from: '13:00', to: '14:00' }
  const sender = t.sender({ to: [{ webhook: loud.url }, { webhook: quiet.url, quietHours: night }], after: 0 })
  await t.waits()
  await sender.run()
  t.pass(3600)
  await t.hq.queue('default').clear()
  await sender.run()
  t.pass(60)
  await t.waits()
  await sender.run()
  t.pass(3600)
  await sender.run()
  expect(loud.got.all.map(({ body }) => [body.begun.length, body.over.length])).toEqual([
    [1, 0],
    [0, 1],
    [1, 0],
  ])
  // A receiver that drops what it has seen must not drop the last one.
  expect(new Set(loud.got.all.map(({ body }) => body.id)).size).toBe(3)
  expect(quiet.got.all).toHaveLength(1)
  await t.hq.queue('default').clear()
  await sender.run()
  expect(quiet.got.all[1]?.body.over).toMatchObject([{ kind: 'no-process' }])
})

test('thresholds and kinds choose what is sent', async () => {
  const t = stopped()
  const [all, others] = [await receiver(), await receiver()]
  const sender = t.sender({
    to: [{ webhook: all.url }, { webhook: others.url, kinds: ['task-paused'] }],
    thresholds: { 'no-process': { waiting: 4 } },
    after: 0,
  })
  await t.waits(3)
  await sender.run()
  expect(all.got.all).toEqual([])
  await t.waits(1)
  await sender.run()
  await sender.run()
  expect(all.got.all).toHaveLength(1)
  expect(others.got.all).toEqual([])
  const none = t.sender({ to: [{ webhook: all.url }], thresholds: { 'no-process': false }, after: 0 })
  await none.run()
  expect(all.got.all[1]?.body).toMatchObject({ begun: [], over: [{ kind: 'no-process' }] })
})

test('every error that many retries share is sent, and stays open while they share it', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const sender = t.sender({ to: [{ webhook: url, kinds: ['retries-share-error'] }], after: 0 })
  const texts = Array.from({ length: 100 }, (_, n) => {
    const error = {
      error_class: 'Error',
      error_message: `${'abcd'[n % 4]} broke`,
      failed_at: NOON / 1000,
      retry_count: 0,
    }
    return JSON.stringify({ class: 'J', args: [], queue: 'default', jid: `${n}`, retry: true, ...error })
  })
  await t.hq.store.jobs.push(
    texts.map((text) => ({ to: 'retry', text, score: NOON / 1000 + 60 })),
    NOON,
  )
  for (let n = 0; n < 3; n++) await sender.run()
  expect(got.all).toHaveLength(1)
  expect(got.all[0]?.body.begun).toHaveLength(4)
})

test('a growing queue is not over because another worker leads, which has not watched it yet', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const options: AlertOptions = { to: [{ webhook: url, kinds: ['queue-grows'] }], after: 0 }
  const info = JSON.stringify({ hostname: 'b1', queues: ['default'], highkiq: '0', started_at: 0 })
  const minute = async (sender: AlertSender, more: number) => {
    t.pass(60)
    await t.hq.pushBulk({ class: 'A', args: Array.from({ length: more }, () => []) })
    const beat = t.hq.now()
    await t.hq.store.workers.heartbeat(
      { identity: 'b1:1:aa', info, concurrency: 1, busy: 1, beat, quiet: false, rss: 5 },
      600,
    )
    await sender.run()
  }
  const first = t.sender(options)
  for (let n = 0; n < 7; n++) await minute(first, 10)
  expect(got.all).toHaveLength(1)
  expect(got.all[0]?.body.begun).toMatchObject([{ kind: 'queue-grows', details: { queue: 'default', perMinute: 10 } }])
  expect(await t.hq.alerts.now()).toMatchObject([
    { kind: 'queue-grows', since: expect.any(Date), details: { queue: 'default' } },
  ])
  const second = t.sender(options)
  for (let n = 0; n < 5; n++) await minute(second, 0)
  expect(got.all).toHaveLength(1)
  for (let n = 0; n < 2; n++) await minute(second, 0)
  expect(got.all).toHaveLength(2)
  expect(got.all[1]?.body).toMatchObject({ begun: [], over: [{ kind: 'queue-grows' }] })
})

test('a silent process is sent before the store forgets it', async () => {
  const t = stopped()
  const { url, got } = await receiver()
  const sender = t.sender({ to: [{ webhook: url }] })
  const process = { identity: 'b1:1:aa', info: '{"highkiq":"0"}', concurrency: 1, busy: 1, quiet: false, rss: 5 }
  await t.hq.store.workers.heartbeat({ ...process, beat: t.hq.now() }, 600)
  for (const [seconds, messages] of [
    [25, 0],
    [10, 0],
    [10, 1],
    [10, 1],
  ] as const) {
    t.pass(seconds)
    await sender.run()
    expect(got.all).toHaveLength(messages)
  }
  expect(got.all[0]?.body.begun).toMatchObject([{ kind: 'process-silent', details: { identity: 'b1:1:aa' } }])
})

test('a quiet worker sends that its queue is not served any more', async () => {
  const { url, got } = await receiver()
  const t = bench({ alerts: { to: [{ webhook: url }], after: 0, every: 1 } })
  const worker = await t.work()
  await worker.quiet()
  await t.hq.push({ class: 'A', args: [] })
  const [{ body } = { body: undefined }] = await got.atLeast(1)
  expect(body?.begun).toMatchObject([{ kind: 'queue-unserved', details: { queue: 'default' } }])
})

test('a worker sends the alerts that hq.alerts returns', async () => {
  const { url, got } = await receiver()
  const t = bench({ alerts: { to: [{ webhook: url }], after: 0, every: 1, language: 'ru' } })
  await t.work()
  await t.hq.push({ class: 'A', args: [], queue: 'imports' })
  const [{ body } = { body: undefined }] = await got.atLeast(1)
  expect(body?.begun).toMatchObject([{ kind: 'queue-unserved', title: 'Очередь imports никто не обслуживает' }])
  const [alert, ...others] = await t.hq.alerts.now()
  expect(others).toEqual([])
  expect(alert).toMatchObject({
    kind: 'queue-unserved',
    since: expect.any(Date),
    details: { queue: 'imports', size: 1 },
  })
  expect(await t.hq.alerts.test()).toEqual([
    { target: expect.stringMatching(/^webhook 127\.0\.0\.1:\d+$/), error: null, took: expect.any(Number) },
  ])
  expect(got.all.at(-1)?.body).toMatchObject({ test: true, begun: [], over: [] })
})
