import { carryAttributes, currentAttributes, gid, keywords, symbol } from 'highkiq/activejob'
import { fake, inline } from 'highkiq/testing'
import { expect, test } from 'vitest'
import { bench, Collector, until } from '../engine/bench.ts'

const NOW = 1_700_000_000_123

/** As Rails leaves it: from what is known of the format, not from a Rails that ran. */
function fromRails(wrapper: string, job: string, args: unknown[], more: object = {}): string {
  const envelope = {
    job_class: job,
    job_id: '0b5e7a2c-6f0e-4f0c-9a9b-7f1d3c2b1a00',
    provider_job_id: null,
    queue_name: 'default',
    priority: null,
    arguments: args,
    executions: 2,
    exception_executions: { '[StandardError]': 2 },
    locale: 'cs',
    timezone: 'Europe/Prague',
    enqueued_at: '2026-12-01T08:00:00.123456789Z',
    scheduled_at: null,
  }
  const payload = {
    class: wrapper,
    wrapped: job,
    queue: 'default',
    args: [envelope],
    retry: true,
    jid: 'rails-1',
    ...more,
  }
  return JSON.stringify(payload)
}

test.each([['Sidekiq::ActiveJob::Wrapper'], ['ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper']])(
  'a job in %s is run by the job that it wraps, which gets its arguments',
  async (wrapper) => {
    const { hq, work, raw, log } = bench()
    const ran = new Collector<unknown>()
    hq.server.use((ctx, next) => {
      ran.add(['middleware', ctx.args[1]])
      return next()
    })
    hq.job('Thumbnail', async (ctx, user: { model: string; id: string }, size: string, options: object) => {
      ran.add([user.model, user.id, size, options, ctx.activeJob?.executions, ctx.activeJob?.locale, ctx.jid])
      ctx.log.info({}, 'said')
    })
    const size = { _aj_serialized: 'ActiveJob::Serializers::SymbolSerializer', value: 'large' }
    const options = {
      force: true,
      money: { _aj_serialized: 'MoneySerializer', cents: 5 },
      _aj_ruby2_keywords: ['force'],
    }
    const text = fromRails(wrapper, 'Thumbnail', [{ _aj_globalid: 'gid://shop/User/7' }, size, options])
    await raw(text)
    await raw(text.replace('rails-1', 'rails-2'))
    await work({ concurrency: 1 })
    const money = { _aj_serialized: 'MoneySerializer', cents: 5 }
    expect((await ran.atLeast(4)).slice(0, 2)).toEqual([
      ['middleware', 'large'],
      ['User', '7', 'large', { force: true, money }, 2, 'cs', 'rails-1'],
    ])
    expect(log.lines.filter(({ message }) => message.includes('MoneySerializer'))).toMatchObject([
      { level: 'warn', about: { serializer: 'MoneySerializer', class: 'Thumbnail' } },
    ])
    expect(log.lines.find(({ message }) => message === 'said')?.about).toMatchObject({ class: 'Thumbnail' })
  },
)

test("it is retried by its payload and the wrapped job's options, and its envelope stays unchanged", async () => {
  const { hq, work, raw, set, clock } = bench()
  const ran = new Collector<unknown>()
  hq.job('Failing', { retryIn: () => 1000 }, async (ctx, when: Date) => {
    ran.add([ctx.attempt, ctx.activeJob?.executions, when.getTime()])
    throw new Error('again')
  })
  const time = { _aj_serialized: 'ActiveJob::Serializers::TimeSerializer', value: '2026-12-01T08:00:00Z' }
  await raw(fromRails('Sidekiq::ActiveJob::Wrapper', 'Failing', [time], { retry: 1, cattr: { user: 5 }, locale: 'cs' }))
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  const [failed] = await set('retry')
  expect(failed).toMatchObject({ error_message: 'again', cattr: { user: 5 }, locale: 'cs', retry_count: 0 })
  expect(failed?.score).toBeGreaterThan(Date.now() / 1000 + 900)
  expect(failed?.args[0]).toMatchObject({ arguments: [time] })
  clock.ahead = 1100
  await until(async () => (await hq.store.jobSets.size('dead')) === 1)
  // Rails counts executions when it runs a job again by itself (retry_on); a retry of Sidekiq's is none.
  expect(ran.all).toEqual([
    [1, 2, Date.UTC(2026, 11, 1, 8)],
    [2, 2, Date.UTC(2026, 11, 1, 8)],
  ])
})

test('an unknown job is reported under its wrapped class; a payload that only looks like a wrapper stays unchanged', async () => {
  const { hq, work, raw, errors } = bench()
  const ran = new Collector<unknown>()
  hq.job('Plain', async (ctx, ...args: unknown[]) => ran.add([args, ctx.activeJob]))
  await raw(fromRails('Sidekiq::ActiveJob::Wrapper', 'Unknown', []))
  await raw('{"class":"Delayed","wrapped":"Plain","args":[{"job_class":"Plain","arguments":[1]}],"jid":"a"}')
  await raw('{"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"Plain","args":[5],"jid":"b"}')
  await raw('{"class":"Sidekiq::ActiveJob::Wrapper","wrapped":5,"args":[],"jid":"c"}')
  await work({ concurrency: 1 })
  expect(await ran.atLeast(2)).toEqual([
    [[{ job_class: 'Plain', arguments: [1] }], undefined],
    [[5], undefined],
  ])
  await until(() => errors.length === 2)
  expect(errors[0]?.error.message).toContain('no job named "Unknown"')
})

test('a job with the name of the wrapper gets the envelope itself', async () => {
  const { hq, work, raw } = bench()
  const ran = new Collector<unknown>()
  hq.job('Sidekiq::ActiveJob::Wrapper', async (_ctx, envelope: { job_class: string }) => ran.add(envelope.job_class))
  await raw(fromRails('Sidekiq::ActiveJob::Wrapper', 'Any', []))
  await work()
  expect(await ran.atLeast(1)).toEqual(['Any'])
})

test('a job for Rails is wrapped', async () => {
  const { hq, queue, set } = bench({ clock: { now: () => NOW } })
  const Rails = hq.activeJob('ThumbnailJob')
  const jid = await Rails.set({ tags: ['x'], retry: 3 }).performAsync(
    gid('gid://shop/User/7'),
    symbol('large'),
    keywords({ force: true }),
  )
  const [pushed] = await queue()
  expect(pushed).toEqual({
    class: 'Sidekiq::ActiveJob::Wrapper',
    wrapped: 'ThumbnailJob',
    queue: 'default',
    jid,
    retry: 3,
    tags: ['x'],
    created_at: NOW,
    enqueued_at: NOW,
    args: [
      {
        job_class: 'ThumbnailJob',
        job_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
        provider_job_id: null,
        queue_name: 'default',
        priority: null,
        arguments: [
          { _aj_globalid: 'gid://shop/User/7' },
          { _aj_serialized: 'ActiveJob::Serializers::SymbolSerializer', value: 'large' },
          { force: true, _aj_ruby2_keywords: ['force'] },
        ],
        executions: 0,
        exception_executions: {},
        locale: null,
        timezone: null,
        enqueued_at: new Date(NOW).toISOString(),
        scheduled_at: null,
      },
    ],
  })
  await Rails.set({ queue: 'media', priority: 5, locale: 'cs' }).performIn('1m')
  const [later] = await set('schedule')
  expect(later).toMatchObject({ queue: 'media', locale: 'cs' })
  expect(later).not.toHaveProperty('priority')
  expect(later?.args[0]).toMatchObject({
    queue_name: 'media',
    priority: 5,
    locale: 'cs',
    scheduled_at: new Date(NOW + 60_000).toISOString(),
  })
  const jids = await Rails.performBulk([[1], [2]])
  expect(jids).toHaveLength(2)
  const ids = (await queue()).map(({ args }) => (args[0] as { job_id: string }).job_id)
  expect(new Set(ids).size).toBe(3)
  await expect(Rails.performAsync(new Map())).rejects.toMatchObject({
    code: 'INVALID_ARGS',
    message: expect.stringMatching(/^ThumbnailJob: args\[0\]\.arguments\[0\] is a Map/),
  })
})

test("before version 8 the wrapper has Rails' name", async () => {
  const { hq, queue } = bench({ wire: 7 })
  await hq.activeJob('RailsJob').performAsync()
  expect(await queue()).toMatchObject([{ class: 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper' }])
})

test("a job of this app can be pushed in Rails' format, and runs the same", async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown>()
  hq.job('Both', { queue: 'both' }, async (_ctx, at: Date, about: object) => ran.add([at.getTime(), about]))
  await hq.activeJob('Both').performAsync(new Date(5), { a: 1 })
  await work({ queues: ['both'] })
  expect(await ran.atLeast(1)).toEqual([[5, { a: 1 }]])
  expect(await hq.activeJob('Both').performInline(new Date(6), {})).toBe(undefined)
  expect(ran.all[1]).toEqual([6, {}])
})

test('test modes show and run wrapped jobs under their wrapped class', async () => {
  const { hq } = bench()
  const ran: unknown[] = []
  const Both = hq.job('Both', async (_ctx, at: Date) => void ran.push(at.getTime()))
  await fake(hq, async () => {
    await hq.activeJob('Both').performAsync(new Date(5))
    expect(Both.jobs).toMatchObject([{ wrapped: 'Both' }])
    expect(await Both.drain()).toBe(1)
  })
  await inline(hq, () => hq.activeJob('Both').performAsync(new Date(6)))
  expect(ran).toEqual([5, 6])
})

test("Rails' attributes are copied to the jobs that a job pushes, unless they have their own", async () => {
  const { hq, work, raw, queue, set, clock } = bench()
  carryAttributes(hq)
  const Next = hq.job('Next', { queue: 'next' }, async () => {})
  hq.job('First', async () => {
    await Next.performAsync()
    await Next.set({ locale: 'en', cattr: null }).performAsync()
    await Next.performIn(60)
  })
  const pair = (name: string, value: unknown) => [
    { _aj_serialized: 'ActiveJob::Serializers::SymbolSerializer', value: name },
    value,
  ]
  const eight = [pair('user_id', { _aj_globalid: 'gid://shop/User/7' }), pair('tenant', 'acme')]
  const carried = { cattr: eight, cattr_1: { role: 'admin' }, locale: 'cs' }
  await raw(JSON.stringify({ class: 'First', args: [], jid: 'a', retry: true, other: 1, ...carried }))
  await work()
  await until(async () => (await hq.store.jobSets.size('schedule')) === 1 && (await queue('next')).length === 2)
  const [first, second] = await queue('next')
  expect(first).toMatchObject(carried)
  expect(first).not.toHaveProperty('other')
  expect(second).toMatchObject({ locale: 'en', cattr: null, cattr_1: { role: 'admin' } })
  expect((await set('schedule'))[0]).toMatchObject(carried)
  clock.ahead = 61
  await until(async () => (await queue('next')).length === 3)
  expect((await queue('next'))[2]).toMatchObject(carried)
  expect(currentAttributes(first as never)).toEqual({
    user_id: { gid: 'gid://shop/User/7', app: 'shop', model: 'User', id: '7' },
    tenant: 'acme',
  })
  expect(currentAttributes(first as never, 'cattr_1')).toEqual({ role: 'admin' })
  expect(currentAttributes(second as never)).toEqual({})
})
