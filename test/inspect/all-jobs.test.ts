import type { JobHit, JobsFilter } from 'highkiq'
import { expect, test, vi } from 'vitest'
import { type Bench, bench, gate, until } from '../engine/bench.ts'

const customer = (n: number) => [{ customer: n }]
const jid = (n: number) => n.toString(16).padStart(24, '0')

function text(n: number, more: object = {}): string {
  return JSON.stringify({ class: 'Job', args: customer(n), queue: 'default', jid: jid(n), retry: true, ...more })
}

async function fill(
  t: Bench,
  to: 'retry' | 'schedule' | 'dead' | 'finished',
  entries: [text: string, score: number][],
) {
  await t.hq.store.jobs.push(
    entries.map(([text, score]) => ({ to, text, score })),
    t.clock.now(),
  )
}

/** Returns all pages of a search, the number of calls, and how many jobs they read. */
async function walked(
  { hq }: Bench,
  filter: JobsFilter,
  limit = 2,
): Promise<{ hits: JobHit[]; calls: number; scanned: number }> {
  const hits: JobHit[] = []
  let scanned = 0
  let after: string | null = null
  for (let calls = 1; ; calls++) {
    const page: Awaited<ReturnType<typeof hq.jobs.search>> = await hq.jobs.search(filter, { after, limit })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    hits.push(...page.items)
    scanned += page.scanned
    if (page.next === null) return { hits, calls, scanned }
    after = page.next
  }
}

const found = async (t: Bench, filter: JobsFilter) =>
  (await walked(t, filter)).hits.map(({ job }) => Number(`0x${job.jid}`))

test('the jobs of all states are found page by page, state by state', async () => {
  const t = bench()
  const [begun, end] = [gate(), gate()]
  const Slow = t.hq.job('Slow', async (_ctx, _what: object) => {
    begun.open()
    await end.opened
  })
  await Slow.performAsync({ customer: 4711 })
  const worker = await t.work({ concurrency: 1 })
  await begun.opened
  await worker.quiet()
  await fill(t, 'schedule', [
    [text(2), 4e9],
    [text(1), 3e9],
  ])
  await fill(t, 'retry', [[text(3), 3e9]])
  await fill(t, 'dead', [
    [text(8), 1000],
    [text(7), 2000],
  ])
  await fill(t, 'finished', [[text(9), 1000]])
  for (const n of [4, 5]) await t.raw(text(n, { queue: 'b' }), 'b')
  await t.raw(text(6), 'a')
  const { hits, calls } = await walked(t, {})
  const states = hits.map(({ state, job }) => (state === 'running' ? state : `${state} ${Number(`0x${job.jid}`)}`))
  expect(states).toEqual([
    ...['retry 3', 'dead 7', 'dead 8', 'scheduled 1', 'scheduled 2'],
    ...['queued 6', 'queued 5', 'queued 4', 'running', 'succeeded 9'],
  ])
  expect(calls).toBeGreaterThanOrEqual(5)
  expect((await walked(t, {}, 100)).scanned).toBe(10)
  expect(hits[0]?.at).toEqual(new Date(3e12))
  expect(hits.find(({ state }) => state === 'running')?.job).toMatchObject({ process: worker.identity })
  expect(await t.hq.jobs.count()).toMatchObject([
    ...[
      ['retry', 1],
      ['dead', 2],
      ['morgue', 0],
      ['scheduled', 2],
      ['limited', 0],
      ['backlog', 0],
      ['queued', 3],
      ['ordered', 0],
    ].map(([state, size]) => ({ state, size })),
    { state: 'running', size: 1, matching: 1, complete: true },
    { state: 'succeeded', size: 1 },
  ])
  const counts = await t.hq.jobs.count({ args: { '0.customer': 4711 } })
  expect(counts.filter(({ matching }) => matching > 0)).toMatchObject([{ state: 'running', matching: 1 }])
  end.open()
  await worker.stop()
})

test('jobs are found by each member of the filter, and by all of them together', async () => {
  const t = bench()
  await fill(t, 'dead', [
    [text(1, { class: 'Mail', tags: ['vip', 'eu'], error_class: 'Refused', error_message: 'no such box' }), 1000],
    [text(2, { queue: 'low', args: ['a', { customer: '4711', paid: true, lines: [{ sku: 'x.1' }] }] }), 2000],
    [text(4711, { class: 'Sidekiq::ActiveJob::Wrapper', wrapped: 'Report' }), 3000],
    [
      text(4, { args: [47110, 'customer 4711', 9007199254740992] }).replace('9007199254740992', '9007199254740993'),
      4000,
    ],
    ['no json 4711', 5000],
  ])
  const all: [filter: JobsFilter, jids: number[]][] = [
    [{ class: 'Mail' }, [1]],
    [{ class: 'Report' }, [4711]],
    [{ queue: 'low' }, [2]],
    [{ tag: 'vip' }, [1]],
    [{ tag: 'vi' }, []],
    [{ errorClass: 'Refused' }, [1]],
    [{ errorClass: 'Ref' }, []],
    [{ error: 'such box' }, [1]],
    [{ jid: jid(2) }, [2]],
    [{ args: { '0.customer': '4711' } }, [4711]],
    [{ args: { '0.customer': 4711 } }, [4711]],
    [{ args: { '*.customer': '4711' } }, [4711, 2]],
    [{ args: { '1.lines.*.sku': 'x.1' } }, [2]],
    [{ args: { '1.paid': 'true' } }, [2]],
    [{ args: { '1.paid': true, '0': 'a' } }, [2]],
    [{ args: { '0': '4711' } }, []],
    [{ args: { '2': '9007199254740993' } }, [4]],
    [{ args: { '*': 'a' }, queue: 'default' }, []],
    [{ search: '4711', states: ['dead'] }, [Number.NaN, 4, 4711, 2]],
    [{ from: new Date(2000e3), until: new Date(4000e3) }, [4711, 2]],
    [{ from: new Date(2000e3), class: 'Mail' }, []],
  ]
  for (const [filter, jids] of all) expect(await found(t, filter), JSON.stringify(filter)).toEqual(jids)
  expect(await found(t, { states: ['retry'], class: 'Mail' })).toEqual([])
})

test('the time of a job is when it is due, entered its queue or died, and limits a search from both ends', async () => {
  const t = bench()
  await fill(
    t,
    'schedule',
    [1, 2, 3, 4].map((n) => [text(n), 4e9 + n]),
  )
  await fill(
    t,
    'dead',
    [5, 6, 7, 8].map((n) => [text(n), 1000 + n]),
  )
  await t.raw(text(9, { enqueued_at: 1_700_000_000_000 }))
  await t.raw(text(10))
  const at = (seconds: number) => new Date(seconds * 1000)
  expect(await found(t, { from: at(4e9 + 2), until: at(4e9 + 4) })).toEqual([2, 3])
  expect(await found(t, { from: at(1006), until: at(1008) })).toEqual([7, 6])
  expect(await found(t, { until: at(1006) })).toEqual([5])
  expect(await found(t, { from: at(1_700_000_000), until: at(1_700_000_001) })).toEqual([9])
})

test('rows of tasks are found by the meta of their tasks', async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _n: number) => {})
  for (const user of [7, 8]) await t.hq.tasks.create(Row, [[user]], { name: `of ${user}`, meta: { user } })
  await Row.performAsync(7)
  const { hits } = await walked(t, { meta: { user: 7 } })
  expect(hits.map(({ job }) => job.args)).toEqual([[7]])
  expect((await walked(t, { meta: { user: 9 } })).hits).toEqual([])
})

test('rows that wait inside their task are found in order, and cancelled', async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _row: { customer: number }) => {})
  const rows = Array.from({ length: 7 }, (_, i) => [{ customer: i < 5 ? 4711 : i }] as [{ customer: number }])
  const task = await t.hq.tasks.create(Row, rows, { window: 2 })
  const states = (await walked(t, { args: { '0.customer': 4711 } })).hits.map(({ state }) => state)
  expect(states).toEqual(['backlog', 'backlog', 'backlog', 'queued', 'queued'])
  const { hits } = await walked(t, { states: ['backlog'] })
  expect(hits.map(({ job }) => [job.class, job.args, job.payload.hk_task])).toEqual(
    [4711, 4711, 4711, 5, 6].map((customer) => ['Row', [{ customer }], task.id]),
  )
  expect(await t.hq.jobs.act('cancel', { states: ['backlog'], args: { '0.customer': 4711 } })).toMatchObject({
    done: 3,
  })
  await t.work()
  await task.wait({ every: 10 })
  expect(await task.status()).toMatchObject({ counts: { finished: 4, cancelled: 3 } })
})

test('a row in the backlog of a task older than 5,000 others is found, and each row is scanned once', async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _n: number) => {})
  const old = await t.hq.tasks.create(Row, [[1], [2], [3], [4]], { window: 1 })
  const { createdAt } = (await t.hq.store.tasks.find(old.id)) as { createdAt: number }
  // Their producer adds no rows.
  const others = Array.from({ length: 5100 }, (_, n) => ({
    ...{ id: n.toString(16).padStart(16, '0'), name: 'other', job: 'Row', queue: 'default', template: '{}' },
    ...({ window: 1, keepArgs: 'rejected', meta: '{}', createdAt: createdAt + 1 + n, producer: 'none' } as const),
  }))
  for (let i = 0; i < others.length; i += 300) {
    await Promise.all(others.slice(i, i + 300).map((task) => t.hq.store.tasks.create(task)))
  }
  const rows: unknown[] = []
  let scanned = 0
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<typeof t.hq.jobs.search>> = await t.hq.jobs.search(
      { states: ['backlog'] },
      { after, limit: 2 },
    )
    rows.push(...page.items.map(({ job }) => job.args[0]))
    scanned += page.scanned
    after = page.next
  } while (after !== null)
  expect([rows, scanned]).toEqual([[2, 3, 4], 3])
  await expect(t.hq.jobs.search({}, { after: '["backlog","","7"]' })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: 'this is not a cursor: pass the next of a page',
  })
})

test('the tasks of a filter by meta are read once for all pages of a search', async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _n: number) => {})
  const rows = [1, 2, 3, 4, 5].map((n): [number] => [n])
  await t.hq.tasks.create(Row, rows, { meta: { user: 7, kind: 'price' } })
  const lists = vi.spyOn(t.hq.store.tasks, 'page')
  const { hits, calls } = await walked(t, { states: ['queued'], meta: { user: 7, kind: 'price' } }, 1)
  expect([hits.length, calls > 4]).toEqual([5, true])
  expect(lists).toHaveBeenCalledTimes(1)
})

test('a search goes on where it stopped when a queue is gone meanwhile, and misses no other', async () => {
  const t = bench()
  for (const queue of ['a', 'b', 'c']) await t.raw(text(queue.charCodeAt(0), { queue }), queue)
  const first = await t.hq.jobs.search({ states: ['queued'] }, { limit: 1 })
  await t.hq.queue('b').clear()
  const { items } = await t.hq.jobs.search({ states: ['queued'] }, { limit: 1, after: first.next })
  expect([...first.items, ...items].map(({ job }) => job.queue)).toEqual(['a', 'c'])
})

test('a search lists the queues only when it gets to them, and then reads all of them', async () => {
  const t = bench()
  await fill(t, 'dead', [
    [text(1), 2],
    [text(2), 1],
  ])
  for (const [n, queue] of ['a', 'b', 'c'].entries()) await t.raw(text(n + 3, { queue }), queue)
  const lists = vi.spyOn(t.hq.store.jobs, 'queues')
  const filter: JobsFilter = { states: ['dead', 'queued', 'succeeded'] }
  const { items, next } = await t.hq.jobs.search(filter, { limit: 2 })
  expect(items.map(({ state }) => state)).toEqual(['dead', 'dead'])
  expect(lists).not.toHaveBeenCalled()
  const rest = await t.hq.jobs.search(filter, { after: next, limit: 9 })
  expect(rest.items.map(({ job }) => job.queue)).toEqual(['a', 'b', 'c'])
  expect(rest.next).toBe(null)
})

test('a search reads many short queues in one call of the store, and a long one page by page', async () => {
  const t = bench()
  const queues = Array.from({ length: 40 }, (_, n) => `q${n + 10}`)
  const job = (queue: string, n: number) => {
    const body = text(n, { queue, args: customer(n % 2 ? 7 : 8) })
    return { to: 'queue', queue, end: 'back', text: body } as const
  }
  const jobs = queues.flatMap((queue, q) => [0, 1, 2].map((n) => job(queue, 3 * q + n)))
  const long = Array.from({ length: 2100 }, (_, n) => job('q30', 1000 + n))
  await t.hq.store.jobs.push([...jobs, ...long], t.clock.now())
  const { search } = t.hq.store
  const [short, whole] = [vi.spyOn(search, 'scanQueues'), vi.spyOn(search, 'scanQueue')]
  const filter: JobsFilter = { states: ['queued'], args: { '0.customer': 7 } }
  const expected = jobs.concat(long).filter(({ text }) => text.includes('"customer":7'))
  const { hits } = await walked(t, filter, 500)
  expect(hits.map(({ job }) => job.text).sort()).toEqual(expected.map(({ text }) => text).sort())
  expect(short.mock.calls.length).toBeLessThan(10)
  expect(new Set(whole.mock.calls.map(([queue]) => queue))).toEqual(new Set(['q30']))
  const counted = await t.hq.jobs.count({ ...filter, queue: 'q12' })
  expect(counted).toMatchObject([{ matching: 1, scanned: 3, complete: true }])
  // An action reads only the queues with jobs that match.
  whole.mockClear()
  const one = { states: ['queued'], jid: jid(7) } satisfies JobsFilter
  expect(await t.hq.jobs.act('delete', one)).toMatchObject({ done: 1, refused: 0 })
  expect(new Set(whole.mock.calls.map(([queue]) => queue))).toEqual(new Set(['q12', 'q30']))
})

test('a search of queues, some of which have more hits than a page, scans each job once', async () => {
  const t = bench()
  const job = (queue: string, n: number, customerOf: number) => {
    const body = text(n, { queue, args: customer(customerOf) })
    return { to: 'queue', queue, end: 'back', text: body } as const
  }
  const jobs = [
    ['a', 0],
    ['b', 600],
    ['c', 0],
    ['d', 700],
  ].flatMap(([queue, hits], q) =>
    Array.from({ length: (hits as number) + 3 }, (_, n) => job(queue as string, 1000 * q + n, n < 3 ? 8 : 7)),
  )
  await t.hq.store.jobs.push(jobs, t.clock.now())
  const { hits, scanned } = await walked(t, { states: ['queued'], args: { '0.customer': 7 } }, 500)
  expect([hits.length, scanned]).toEqual([1300, jobs.length])
})

test('an action applies to all jobs that match, in the states that it names', async () => {
  const t = bench()
  const mails = (from: number) =>
    [0, 1, 2].map((n): [string, number] => [text(from + n, n < 2 ? { class: 'Mail' } : {}), 4e9 + n])
  await fill(t, 'retry', mails(10))
  await fill(t, 'dead', mails(20))
  await fill(t, 'schedule', mails(30))
  const sofar: number[] = []
  const onProgress = ({ done }: { done: number }) => sofar.push(done)
  expect(await t.hq.jobs.act('retry', { states: ['retry', 'dead'], class: 'Mail' }, { onProgress })).toEqual({
    done: 4,
    refused: 0,
  })
  expect(sofar).toEqual([2, 4])
  expect(await found(t, { states: ['retry', 'dead'] })).toEqual([12, 22])
  expect((await found(t, { states: ['queued'] })).sort()).toEqual([10, 11, 20, 21])
  expect(await t.hq.jobs.act('delete', { states: ['queued'], args: { '0.customer': 20 } })).toMatchObject({ done: 1 })
  expect(await t.hq.jobs.act('addToQueue', { states: ['scheduled'], jid: jid(32) })).toMatchObject({ done: 1 })
  expect(await t.hq.jobs.act('kill', { states: ['scheduled'] })).toMatchObject({ done: 2 })
  expect(await t.hq.jobs.act('delete', { states: ['dead'], from: new Date(4e12 + 2000) })).toMatchObject({ done: 1 })
  expect((await found(t, { states: ['queued', 'dead'] })).sort()).toEqual([10, 11, 21, 30, 31, 32])
})

test('the running jobs that match are cancelled', async () => {
  const t = bench()
  const begun = [gate(), gate()]
  const ended: string[] = []
  const Slow = t.hq.job('Slow', { retry: false }, async (ctx, n: number) => {
    begun[n]?.open()
    await new Promise((resume) => ctx.signal.addEventListener('abort', resume, { once: true }))
    ended.push(`${n}`)
    ctx.signal.throwIfAborted()
  })
  await Slow.performBulk([[0], [1]])
  const worker = await t.work({ concurrency: 2 })
  for (const one of begun) await one.opened
  // The worker shows its jobs at once.
  await worker.quiet()
  await until(async () => (await found(t, { states: ['running'] })).length === 2)
  expect(await t.hq.jobs.act('cancel', { states: ['running'], args: { 0: 1 } })).toEqual({ done: 1, refused: 0 })
  await until(() => ended.length === 1)
  expect(ended).toEqual(['1'])
  await worker.stop()
})

/** Shows jobs as running, as the last heartbeat of a worker that has nothing to do any more. */
async function showRunning({ hq, clock }: Bench, texts: readonly string[]) {
  const jobs = texts.map((text, i) => ({ slot: `${i}`, queue: 'default', text, startedAt: clock.now() }))
  const info = JSON.stringify({ hostname: 'a', pid: 1, highkiq: 1 })
  const figures = { concurrency: 5, busy: texts.length, beat: clock.now(), quiet: false, rss: 1 }
  await hq.store.workers.heartbeat({ identity: 'a:1:b', info, ...figures }, 60, jobs)
}

test('a cancel of running jobs does not count those that have ended, and leaves no request behind', async () => {
  const t = bench()
  const begun = gate()
  const Slow = t.hq.job('Slow', { retry: false }, async (ctx, _n: number) => {
    begun.open()
    await new Promise((resume) => ctx.signal.addEventListener('abort', resume, { once: true }))
    ctx.signal.throwIfAborted()
  })
  const slow = (await Slow.performAsync(0)) as string
  const worker = await t.work({ concurrency: 1 })
  await begun.opened
  await worker.quiet()
  await showRunning(t, [text(1), text(2)])
  const earlier = jid(2)
  await t.hq.store.cancellations.request(earlier, t.clock.now())
  const calls = vi.spyOn(t.hq.store.cancellations, 'request')
  await until(async () => (await found(t, { states: ['running'] })).length === 3)
  let scanned = 0
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof t.hq.jobs.search>> = await t.hq.jobs.search(
      { states: ['running'] },
      { after, limit: 1 },
    )
    scanned += page.scanned
    after = page.next
    if (after === null) break
  }
  expect(scanned).toBe(3)
  const result = await t.hq.jobs.act('cancel', { states: ['running'] })
  expect(result).toMatchObject({ done: 1, refused: 2 })
  expect(String(result.error)).toContain(`job ${jid(1)} does not run or wait there any more`)
  expect(calls).toHaveBeenCalledTimes(1)
  // The request for the running job stays, and one that was made before.
  const requested = await t.hq.store.cancellations.among([jid(1), earlier])
  expect(requested).toEqual([earlier])
  await until(async () => (await t.hq.find(slow)).state === 'unknown')
  await worker.stop()
})

test('a running job of several rows is cancelled with all of its rows', async () => {
  const t = bench()
  const begun = gate()
  const Rows = t.hq.job('Rows', async (ctx, _rows: number[]) => {
    begun.open()
    await new Promise((resume) => ctx.signal.addEventListener('abort', resume, { once: true }))
    ctx.signal.throwIfAborted()
  })
  const task = await t.hq.tasks.create(Rows, [[1], [2], [3]] as never, { rowsPerJob: 3 })
  const worker = await t.work({ concurrency: 1 })
  await begun.opened
  await worker.quiet()
  await until(async () => (await t.hq.jobs.search({ states: ['running'] })).items.length === 1)
  expect(await t.hq.jobs.act('cancel', { states: ['running'] })).toEqual({ done: 1, refused: 0 })
  await task.wait({ every: 10 })
  expect(await task.status()).toMatchObject({ counts: { cancelled: 3 } })
  await worker.stop()
})

test('a cancel of rows that end meanwhile does not count them', async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _n: number) => {})
  const task = await t.hq.tasks.create(Row, [[1], [2], [3], [4]], { window: 1 })
  const request = t.hq.store.cancellations.request
  // All rows run between the step that found them and the request.
  const calls = vi.spyOn(t.hq.store.cancellations, 'request').mockImplementation(async (jids, now) => {
    const worker = await t.work()
    await task.wait({ every: 10 })
    await worker.stop()
    return request.call(t.hq.store.cancellations, jids, now)
  })
  expect(await t.hq.jobs.act('cancel', { states: ['backlog'] })).toMatchObject({ done: 0, refused: 3 })
  expect(calls).toHaveBeenCalledTimes(1)
  expect((await t.hq.store.cancellations.since(0)).jids).toEqual([])
  expect(await task.status()).toMatchObject({ counts: { finished: 4 } })
})

test('a wrong filter is refused, and an action never takes an empty one for all jobs', async () => {
  const { hq } = bench()
  await hq.store.open()
  const odd = (filter: object) => () => hq.jobs.search(filter as JobsFilter)
  const act = (action: string, filter: object) => () => hq.jobs.act(action as 'retry', filter as JobsFilter)
  const all: [ask: () => Promise<unknown>, message: string][] = [
    [odd({ clas: 'Mail' }), 'jobs.search: the filter: there is no option clas; did you mean class? There are'],
    [
      odd({ states: ['died'] }),
      'states must be a list of retry, dead, rejected, morgue, scheduled, limited, backlog, queued, ordered, running',
    ],
    [odd({ from: '2026-01-01' }), 'from must be a Date (got "2026-01-01")'],
    [odd({ args: { customer: 4711 } }), '0.customer, or *.customer for any argument (got "customer")'],
    [odd({ args: { '0.': 4711 } }), '(got "0.")'],
    [() => hq.jobs.search({}, { after: 'x' }), 'is not a cursor: pass the next of a page'],
    [act('stop', {}), 'there is no action "stop"; there are retry, addToQueue, kill, delete, cancel'],
    [
      act('retry', {}),
      'retry applies to jobs of the states retry, dead, rejected, morgue: name some of them (got none)',
    ],
    [
      act('kill', { states: ['dead'] }),
      'kill applies to jobs of the states scheduled, retry: name some of them (got "dead")',
    ],
    [act('delete', { states: ['dead'], class: undefined }), 'class must not be empty: leave it out to mean all'],
    [act('delete', { states: ['dead'], class: '' }), 'class must not be empty'],
    [act('delete', { states: ['dead'], args: {} }), 'args must not be empty'],
  ]
  for (const [ask, message] of all) {
    await expect(ask(), message).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
    })
  }
})

test('pages of a queue end at the same jobs, whichever hidden values match', async () => {
  const t = bench()
  // As many jobs as a page has match both words; only one of the words is in hidden values, too.
  const argsAt = (n: number) => [n % 5 === 1 ? { animal: 'boar and deer' } : { pw: 'deer' }]
  const texts = Array.from({ length: 20 }, (_, n) => text(n, { args: argsAt(n) }))
  await t.hq.store.jobs.push(
    texts.map((text) => ({ to: 'queue', queue: 'default', text, end: 'back' }) as const),
    t.clock.now(),
  )
  const shown = (text: string) => text.replace(/"pw":"[^"]*"/, '"pw":""')
  const pagesOf = async (search: string) => {
    const pages: object[] = []
    for (let after: string | null = null; ; ) {
      const filter = { states: ['queued'] as const, search }
      const page: Awaited<ReturnType<typeof t.hq.jobs.search>> = await t.hq.jobs.search(
        filter,
        { after, limit: 4 },
        { shown },
      )
      pages.push({ jids: page.items.map(({ job }) => job.jid), scanned: page.scanned })
      if (page.next === null) return pages
      after = page.next
    }
  }
  expect(await pagesOf('boar')).toEqual([{ jids: [jid(16), jid(11), jid(6), jid(1)], scanned: 20 }])
  expect(await pagesOf('deer')).toEqual(await pagesOf('boar'))
})
