import { Discard, type Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, until } from '../engine/bench.ts'

const START = 1_700_000_000_000
const noop = async () => {}

/** An app whose clock stands at a whole second, where a float is most easily lost. */
function frozen(wire?: 8 | 7 | 6): Bench & { at: { ms: number } } {
  const at = { ms: START }
  return { ...bench({ clock: { now: () => at.ms }, ...(wire ? { wire } : {}) }), at }
}

const dialects: [8 | 7 | 6, (ms: number) => string][] = [
  [8, (ms) => String(ms)],
  [7, (ms) => (ms % 1000 === 0 ? `${ms / 1000}.0` : String(ms / 1000))],
  [6, (ms) => (ms % 1000 === 0 ? `${ms / 1000}.0` : String(ms / 1000))],
]

const texts = (hq: Highkiq, set: 'retry' | 'schedule' | 'dead') =>
  hq.store.jobSets.page(set, { limit: 9 }).then((entries) => entries.map(({ text }) => text))

test.each(dialects)(
  'wire %i: a push, a scheduled job and what becomes of it have their times so',
  async (wire, time) => {
    const { hq, at, work } = frozen(wire)
    const J = hq.job('J', noop)
    await J.performAsync()
    const [pushed] = await hq.store.jobs.peek('default', 0, 1)
    expect(pushed).toContain(`"created_at":${time(START)},"enqueued_at":${time(START)}}`)
    await J.set({ queue: 'later' }).performIn(10)
    expect((await texts(hq, 'schedule'))[0]).toMatch(new RegExp(`"created_at":${time(START)}}$`))
    at.ms = START + 12_345
    await work({ queues: ['idle'] })
    await until(async () => (await hq.store.jobSets.size('schedule')) === 0)
    const [promoted] = await hq.store.jobs.peek('later', 0, 1)
    expect(promoted).toContain(`"created_at":${time(START)},"enqueued_at":${time(START + 12_345)}}`)
  },
)

test.each(dialects)('wire %i: the times of a first failure, a second one and a discarded job', async (wire, time) => {
  const { hq, at, work } = frozen(wire)
  const discarded: unknown[] = []
  hq.onDeath((payload) => discarded.push(payload.discarded_at))
  const Broken = hq.job('Broken', { retry: 1 }, async () => {
    throw new Error('x')
  })
  await Broken.performAsync()
  await hq
    .job('Dropped', async () => {
      throw new Discard()
    })
    .performAsync()
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  const [first] = await texts(hq, 'retry')
  expect(first).toContain(`"failed_at":${time(START)},"retry_count":0}`)
  await until(() => discarded.length === 1)
  expect(discarded).toEqual([wire === 8 ? START : START / 1000])
  at.ms = START + 60_000
  await until(async () => (await hq.store.jobSets.size('dead')) === 1)
  const [last] = await texts(hq, 'dead')
  expect(last).toContain(`"failed_at":${time(START)},"retry_count":1,`)
  expect(last).toContain(`"retried_at":${time(START + 60_000)}`)
})

test.each(dialects)(
  'wire %i: rows of a task have their times so, at first and when their turn comes',
  async (wire, time) => {
    const { hq, at, work } = frozen(wire)
    const Row = hq.job('Row', { queue: 'rows' }, noop)
    hq.client.use((payload, next) => {
      // A payload that the template can't express.
      if (payload.args[0] === 1) payload.tags = ['odd']
      return next()
    })
    const rows: [number][] = [[0], [1], [2]]
    await hq.tasks.create(Row as never, rows, { window: 2 })
    const waiting = await hq.store.jobs.peek('rows', 0, 9)
    expect(waiting).toHaveLength(2)
    for (const text of waiting) {
      expect(text).toContain(`"created_at":${time(START)}`)
      expect(text).toMatch(new RegExp(`"hk_run":1,"enqueued_at":${time(START)}}$`))
      expect(() => JSON.parse(text)).not.toThrow()
    }
    at.ms = START + 500
    const seen: unknown[] = []
    hq.server.use((ctx, next) => {
      seen.push(ctx.payload.enqueued_at)
      return next()
    })
    await work({ queues: ['rows'], concurrency: 1 })
    await until(() => seen.length === 3)
    expect(seen.at(-1)).toBe(wire === 8 ? START + 500 : START / 1000 + 0.5)
  },
)

test('times of all programs are read by their type: latency, and the end of retry_for', async () => {
  const { hq, at, work, raw } = frozen()
  for (const [queue, times] of Object.entries({
    eight: `"created_at":1,"enqueued_at":${START - 5000}`,
    seven: `"created_at":1.0,"enqueued_at":${START / 1000 - 5}.0`,
    'go-workers': `"enqueued_at":${(START - 5000) / 1e12}e9`,
    'no-enqueued': `"created_at":${START / 1000 - 5}.0`,
    none: '"x":1',
  })) {
    await raw(`{"class":"X","args":[],${times}}`, queue)
  }
  const latencies: Record<string, number> = {}
  for await (const queue of hq.queues()) latencies[queue.name] = await queue.latency()
  expect(latencies).toEqual({ eight: 5, seven: 5, 'go-workers': 5, 'no-enqueued': 5, none: 0 })

  hq.job('Broken', async () => {
    throw new Error('x')
  })
  for (const [jid, failed] of [
    ['over-8', START - 61_000],
    ['over-7', `${START / 1000 - 61}.0`],
    ['again-8', START - 59_000],
    ['again-7', `${START / 1000 - 59}.0`],
  ]) {
    await raw(
      `{"class":"Broken","args":[],"jid":"${jid}","queue":"default","retry":true,"retry_for":60,"retry_count":0,"failed_at":${failed}}`,
    )
  }
  await work()
  await until(async () => (await hq.store.jobSets.size('dead')) + (await hq.store.jobSets.size('retry')) === 4)
  const jids = async (set: 'dead' | 'retry') => (await texts(hq, set)).map((text) => JSON.parse(text).jid).sort()
  expect(await jids('dead')).toEqual(['over-7', 'over-8'])
  expect(await jids('retry')).toEqual(['again-7', 'again-8'])
  expect(at.ms).toBe(START)
})

test('jobs of go-workers run: without created_at, retry and queue, with at, by RPUSH', async () => {
  const { hq, at, work } = frozen()
  const ran: unknown[] = []
  hq.job('Add', { queue: 'myqueue3' }, (ctx, a: number, b: number) => {
    ran.push([ctx.jid, a + b])
  })
  const text = `{"queue":"myqueue3","class":"Add","args":[1,2],"jid":"%","enqueued_at":1699999999.5,"at":1700000005.25}`
  const now = text.replace('%', 'now')
  await hq.store.jobs.push([{ to: 'queue', queue: 'myqueue3', text: now, end: 'front' }], START)
  await hq.store.jobs.push([{ to: 'schedule', text: text.replace('%', 'later'), score: START / 1000 + 5.25 }], START)
  await work({ queues: ['myqueue3'] })
  await until(() => ran.length === 1)
  at.ms = START + 6000
  await until(() => ran.length === 2)
  expect(ran).toEqual([
    ['now', 3],
    ['later', 3],
  ])
  // Had `at` stayed in it, it would be scheduled for ever.
  expect(await hq.store.jobSets.size('schedule')).toBe(0)
})

test.each([[5], ['8'], [null], [8.5], [9]])('wire %o is refused with the valid values', async (wire) => {
  expect(() => bench({ wire: wire as never })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('8 (the default), 7 or 6') }),
  )
})

test('a worker logs once, at its start, that Ruby of another version works beside it', async () => {
  const shown = async ({ hq }: Bench, identity: string, version: string | undefined) => {
    const record = { identity, info: JSON.stringify({ version }), concurrency: 5, busy: 0, beat: Date.now() }
    await hq.store.workers.heartbeat({ ...record, quiet: false, rss: 1 }, 60)
  }
  const hints = ({ log }: Bench) => log.lines.filter(({ message }) => message.includes('Sidekiq'))

  const eight = bench()
  await shown(eight, 'ruby-8:1:a', '8.1.7')
  await eight.work()
  expect(hints(eight)).toEqual([])
  await shown(eight, 'ruby-7:1:a', '7.3.2')
  await shown(eight, 'ruby-7:2:a', '7.0.0')
  await shown(eight, 'ruby-6:1:a', undefined)
  await eight.work()
  expect(hints(eight)).toMatchObject([
    { level: 'warn', about: { processes: ['ruby-6:1:a'] }, message: expect.stringMatching(/Sidekiq 6.*wire: 6/) },
    {
      level: 'warn',
      about: { processes: ['ruby-7:1:a', 'ruby-7:2:a'] },
      message: expect.stringMatching(/Sidekiq 7.*milliseconds.*wire: 7/),
    },
  ])

  const seven = bench({ wire: 7 })
  await shown(seven, 'ruby-8:1:a', '8.0.1')
  await shown(seven, 'ruby-7:1:a', '7.0.1')
  await seven.work()
  expect(hints(seven)).toMatchObject([{ level: 'info', about: { processes: ['ruby-8:1:a'] } }])
})
