import { setTimeout as sleep } from 'node:timers/promises'
import { Discard, type JobEvent, type JobEventsOptions, Kill } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Child, Collector, gate, until } from './bench.ts'

/** Starts a recording without the wait for processes that do not know of it: there is none yet. */
async function recorded(t: Bench): Promise<void> {
  await t.hq.store.events.record(null, t.hq.now())
  await t.hq.store.events.confirm(t.hq.now())
}

/** Reads events in the background until the end of the test. */
async function reading(t: Bench, options: JobEventsOptions = {}): Promise<Collector<JobEvent>> {
  const received = new Collector<JobEvent>()
  const ending = new AbortController()
  const events = t.hq.events({ ...options, signal: ending.signal })
  await events.position()
  const loop = (async () => {
    for await (const event of events) received.add(event)
  })()
  onTestFinished(async () => {
    ending.abort()
    await loop
  })
  return received
}

const kindsOf = (events: readonly JobEvent[], jid: string | null) =>
  events.filter((one) => one.jid === jid).map(({ kind }) => kind)

test('a reader gets all events of a job, in order, with what belongs to each', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const J = t.hq.job('J', { queue: 'default' }, async () => 1)
  const jid = await J.performAsync()
  await t.work()
  const events = await received.atLeast(3)
  expect(events).toEqual([
    { id: expect.stringMatching(/^\d+-\w+$/), kind: 'pushed', jid, job: 'J', queue: 'default', at: expect.any(Date) },
    { id: expect.any(String), kind: 'started', jid, job: 'J', queue: 'default', at: expect.any(Date), attempt: 1 },
    { id: expect.any(String), kind: 'succeeded', jid, job: 'J', queue: 'default', at: expect.any(Date), attempt: 1 },
  ])
  expect(new Set(events.map(({ id }) => id)).size).toBe(3)
})

test('the parent in a flow, and callbacks, have their events: pushed, died of a child, and cancelled', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const Work = t.hq.job('Work', { retry: 0 }, (_ctx, how: string) => {
    if (how === 'fails') throw new Error('no')
  })
  const Done = t.hq.job('Done', { queue: 'low' }, () => {})
  const flow = async (how: string) => (await t.hq.flow({ job: Done, children: [{ job: Work, args: [how] }] }))?.jid
  const [ran, died, dropped] = [await flow('works'), await flow('fails'), await flow('waits')]
  expect(await t.hq.cancel(dropped as string)).toBe('removed')
  const bid = await t.hq.batch({ onSuccess: Done }, () => Work.performAsync('works'))
  await t.work({ queues: ['default', 'low'] })
  const of = (jid: string | undefined) => received.all.filter((one) => one.jid === jid)
  await until(() => of(ran).length === 3 && of(`${bid}fc000002`).length === 3 && of(died).length > 0)
  const base = { id: expect.any(String), job: 'Done', queue: 'low', at: expect.any(Date) }
  const error = { class: 'ChildFailed', message: expect.any(String) }
  expect(kindsOf(received.all, ran as string)).toEqual(['pushed', 'started', 'succeeded'])
  expect(of(died)).toEqual([{ ...base, jid: died, kind: 'died', error, reason: 'failed' }])
  expect(of(dropped)).toEqual([{ ...base, jid: dropped, kind: 'cancelled', reason: 'cancelled' }])
})

test('a loop ends without an error when its app closes, and so does one that begins afterwards', async () => {
  const t = bench()
  await recorded(t)
  const received = new Collector<JobEvent>()
  const events = t.hq.events()
  await events.position()
  const loop = (async () => {
    for await (const event of events) received.add(event)
  })()
  await t.hq.job('J', async () => {}).performAsync()
  await received.atLeast(1)
  await t.hq.close()
  await loop
  for await (const event of t.hq.events()) received.add(event)
  expect(received.all.map(({ kind }) => kind)).toEqual(['pushed'])
})

test('a job of another program without a jid, or with a number for one, has its events', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  t.hq.job('J', async () => {})
  await t.raw('{"class":"J","args":[]}')
  await t.raw('{"class":"J","args":[],"jid":null}')
  await t.raw('{"class":"J","args":[],"jid":12345678901234567890}')
  await t.work()
  await received.atLeast(6)
  const jids = received.all.filter(({ kind }) => kind === 'succeeded').map(({ jid }) => jid)
  expect(jids.toSorted()).toEqual(['', '', '12345678901234567890'])
})

test('the jobs of a batch have their events', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const J = t.hq.job('J', { queue: 'default' }, async () => 1)
  let jid: string | null = null
  await t.hq.batch({}, async () => {
    jid = await J.performAsync()
  })
  await t.work()
  expect(kindsOf(await received.atLeast(3), jid)).toEqual(['pushed', 'started', 'succeeded'])
})

test.each([2, 10_001])('a reader that begins while a batch of %i jobs is stored gets their events', async (jobs) => {
  const t = bench()
  const { batches } = t.hq.store
  const { push } = batches
  let received: Collector<JobEvent> | undefined
  // The process that pushes has just learned that nothing is recorded.
  Object.assign(batches, {
    push: async (...args: Parameters<typeof push>) => {
      received ??= await reading(t)
      return push.apply(batches, args)
    },
  })
  const J = t.hq.job('J', { queue: 'default' }, async (_ctx, _n: number) => {})
  await t.hq.batch({}, () => J.performBulk(Array.from({ length: jobs }, (_, n) => [n])))
  const events = (await received?.atLeast(jobs)) ?? []
  expect(new Set(events.map(({ jid, kind }) => `${kind} ${jid}`)).size).toBe(jobs)
})

test('failures, retries and deaths have their error, their time and their reason', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t, { kinds: ['failed', 'retried', 'died'] })
  t.hq.job('Failing', { retry: 1, retryIn: () => 0 }, () => {
    throw new TypeError('no luck')
  })
  t.hq.job('Discarding', () => {
    throw new Discard('no use')
  })
  t.hq.job('Killing', () => {
    throw new Kill('no hope')
  })
  await t.work()
  const jid = await t.hq.push({ class: 'Failing', args: [] })
  const all = await received.atLeast(4)
  const error = { class: 'TypeError', message: 'no luck' }
  expect(all.slice(0, 4)).toMatchObject([
    { kind: 'failed', jid, attempt: 1, error },
    { kind: 'retried', jid, attempt: 1, due: expect.any(Date), reason: 'failed' },
    { kind: 'failed', jid, attempt: 2, error },
    { kind: 'died', jid, attempt: 2, error, reason: 'failed' },
  ])
  const discarded = await t.hq.push({ class: 'Discarding', args: [] })
  await received.atLeast(6)
  expect(all.filter((one) => one.jid === discarded)).toMatchObject([
    { kind: 'failed' },
    { kind: 'died', reason: 'discarded' },
  ])
  const killed = await t.hq.push({ class: 'Killing', args: [] })
  await received.atLeast(8)
  expect(kindsOf(all, killed)).toEqual(['failed', 'died'])
})

test('a job that is cancelled, expires, is deleted or killed by hand records its end', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t, { kinds: ['cancelled', 'died'] })
  t.hq.job('J', async () => {})
  const push = (more = {}) => t.hq.push({ class: 'J', args: [], ...more }) as Promise<string>
  const [deleted, killed, cancelled] = [await push({ at: 2e9 }), await push({ at: 2e9 }), await push({ at: 2e9 })]
  await (await t.hq.scheduled.find(deleted))?.delete()
  await (await t.hq.scheduled.find(killed))?.kill()
  await t.hq.cancel(cancelled)
  const expired = await t.hq.push({ class: 'J', args: [], expiresIn: 1 } as never)
  t.clock.ahead = 60
  await t.work()
  const events = await received.atLeast(4)
  const reasons = Object.fromEntries(events.map(({ jid, kind, reason }) => [jid, [kind, reason]]))
  expect(reasons).toEqual({
    [deleted]: ['cancelled', 'deleted'],
    [killed]: ['died', 'killed'],
    [cancelled]: ['cancelled', 'cancelled'],
    [expired as string]: ['cancelled', 'expired'],
  })
})

test('a start and progress are recorded while the job runs, and hq.find shows the progress', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const { opened, open } = gate()
  t.hq.job('Long', async (ctx) => {
    ctx.progress(3, 10, 'rows')
    await opened
    ctx.progress(10, 10, 'x'.repeat(1001))
  })
  const worker = await t.work()
  const jid = (await t.hq.push({ class: 'Long', args: [] })) as string
  const events = await received.atLeast(3)
  expect(kindsOf(events, jid)).toEqual(['pushed', 'started', 'progress'])
  expect(events[2]?.progress).toEqual({ done: 3, total: 10, note: 'rows' })
  // A worker that becomes quiet sends a heartbeat.
  await worker.quiet()
  await until(async () => (await t.hq.find(jid)).progress)
  expect(await t.hq.find(jid)).toMatchObject({ state: 'running', progress: { done: 3, total: 10, note: 'rows' } })
  open()
  await received.atLeast(5)
  expect(events.slice(3)).toMatchObject([
    { kind: 'progress', progress: { done: 10, note: 'x'.repeat(1000) } },
    { kind: 'succeeded' },
  ])
})

test('a reader without a recording waits until all processes know of it, and then misses nothing', async () => {
  const t = bench()
  const other = t.another()
  for (const { hq } of [t, other]) hq.job('J', async () => {})
  // Both processes have just learned that nothing is recorded.
  await other.hq.push({ class: 'J', args: [] })
  await other.work()
  await t.settled()
  const received = await reading(t)
  const jids = await other.hq.pushBulk({ class: 'J', args: [[], [], []] })
  const events = await received.atLeast(9)
  for (const jid of jids) expect(kindsOf(events, jid)).toEqual(['pushed', 'started', 'succeeded'])
  expect(events).toHaveLength(9)
})

test('a reader continues behind the last event that another reader has seen', async () => {
  const t = bench()
  await recorded(t)
  const position = await t.hq.events().position()
  t.hq.job('J', async () => {})
  const jids: (string | null)[] = []
  for (let n = 0; n < 5; n++) jids.push(await t.hq.push({ class: 'J', args: [n] }))
  const seen: JobEvent[] = []
  for await (const event of t.hq.events({ after: position })) if (seen.push(event) === 2) break
  for await (const event of t.hq.events({ after: seen[1]?.id as string })) if (seen.push(event) === 5) break
  expect(seen.map(({ jid }) => jid)).toEqual(jids)
})

test('a position behind a part that its event does not have is refused', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  t.hq.job('J', async () => {})
  await t.work()
  await t.hq.push({ class: 'J', args: [] })
  const [pushed] = await received.atLeast(3)
  const [whole, inside] = [pushed?.id.replace('-', '.1-'), received.all[2]?.id.replace('-', '.2-')]
  const signal = AbortSignal.timeout(2000)
  for (const after of [whole, inside, '0.1-a'] as string[]) {
    const next = t.hq.events({ after, signal })[Symbol.asyncIterator]().next()
    await expect(next).rejects.toMatchObject({ code: 'EVENTS_TRIMMED', details: { after } })
  }
})

test('a position in a recording that has ended, or that is not kept any more, is refused', async () => {
  const t = bench()
  await recorded(t)
  const after = await t.hq.events().position()
  const [number = '', check] = after.split('-')
  for (const wrong of [`${Number(number) - 1}`, `${Number(number) + 1}`, '0', `${number}-1`, `9-${check}`]) {
    const next = t.hq.events({ after: wrong })[Symbol.asyncIterator]().next()
    await expect(next).rejects.toMatchObject({ code: 'EVENTS_TRIMMED', details: { after: wrong } })
  }
})

test('a store that has lost events and gives their numbers to others is found out, also inside an event', async () => {
  const t = bench()
  await recorded(t)
  const record = (kind: string, ...more: unknown[]) =>
    ({ kind: 'record', jid: 'lost', about: JSON.stringify([kind, 'J', 'default', ...more]) }) as const
  const first = await t.hq.events().position()
  await t.hq.store.events.append([record('pushed', 1, 0)], t.hq.now())
  const lost: string[] = []
  await t.hq.store.events.append([record('succeeded', 2, 1, { began: 1 })], t.hq.now())
  for await (const { id } of t.hq.events({ after: first })) if (lost.push(id) === 3) break
  expect(lost[1]).toMatch(/\.1-/)
  // Another store with the same numbers, as after the restore of an older backup.
  const other = bench()
  await recorded(other)
  await other.work()
  const position = await other.hq.events().position()
  const moved = (id: string | undefined) => {
    const [number, part = '', check] = (id as string).split(/(\.1)?-/)
    const distance = Number(number) - Number(first.split('-')[0])
    return `${Number(position.split('-')[0]) + distance}${part}-${check}`
  }
  const received = await reading(other)
  for (let n = 0; n < 3; n++) await other.hq.push({ class: 'J', args: [n] })
  await received.atLeast(3)
  for (const id of lost) {
    const next = other.hq
      .events({ after: moved(id) })
      [Symbol.asyncIterator]()
      .next()
    await expect(next).rejects.toMatchObject({ code: 'EVENTS_TRIMMED' })
  }
})

test('a reader that stops between the start and the end of a job continues with its end', async () => {
  const t = bench()
  await recorded(t)
  const after = await t.hq.events().position()
  t.hq.job('J', async () => {})
  await t.hq.push({ class: 'J', args: [] })
  const ids: string[] = []
  await t.work()
  for await (const { id } of t.hq.events({ after })) if (ids.push(id) === 3) break
  const kindAfter = async (id: string) => {
    for await (const { kind } of t.hq.events({ after: id })) return kind
    return undefined
  }
  expect(await Promise.all([after, ...ids.slice(0, 2)].map(kindAfter))).toEqual(['pushed', 'started', 'succeeded'])
})

test('a tracked job has the events of any other job, and the rows of a task have none', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const Tracked = t.hq.job('Tracked', { track: true, queue: 'default', retryIn: () => 0 }, async (ctx, _n: number) => {
    if (ctx.attempt === 1) throw new Error('at first')
  })
  const Row = t.hq.job('Row', { queue: 'default' }, async (_ctx, _n: number) => {})
  const jids = [await Tracked.performAsync(0), ...(await Tracked.performBulk([[1], [2]]))]
  const task = await t.hq.tasks.create(Row, [[1], [2], [3]])
  await t.work()
  await task.wait({ every: 10 })
  await until(() => received.all.filter(({ kind }) => kind === 'succeeded').length === 3)
  const kinds = ['pushed', 'started', 'failed', 'retried', 'started', 'succeeded']
  for (const jid of jids) expect(kindsOf(received.all, jid)).toEqual(kinds)
  expect(new Set(received.all.map(({ job }) => job))).toEqual(new Set(['Tracked']))
})

test('filters choose jobs, queues and kinds', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t, { jobs: ['A', 'B'], queues: ['one'], kinds: ['pushed'] })
  for (const name of ['A', 'B', 'C']) {
    for (const queue of ['one', 'two']) await t.hq.push({ class: name, args: [], queue })
  }
  expect((await received.atLeast(2)).map(({ job, queue }) => [job, queue])).toEqual([
    ['A', 'one'],
    ['B', 'one'],
  ])
})

test('an app with events: { keep } records before anyone reads', async () => {
  const t = bench({ events: { keep: 1000 } })
  t.hq.job('J', async () => {})
  await t.hq.push({ class: 'J', args: [] })
  expect(await t.hq.store.events.isRecording(t.hq.now())).toBe(true)
  const read = await t.hq.store.events.record(null, t.hq.now())
  const signal = AbortSignal.timeout(5000)
  const events = await t.hq.store.events.read(read.newest - 1, { limit: 9, ms: 0, signal }, () => t.hq.now())
  expect(events).toMatchObject([{ event: expect.arrayContaining(['pushed']) }])
})

test('without a reader a store gets no call about events but one question a second', async () => {
  const t = bench()
  const { events } = t.hq.store
  const calls: string[] = []
  for (const name of ['isRecording', 'append', 'record', 'read'] as const) {
    const original = events[name] as (...args: unknown[]) => Promise<unknown>
    Object.assign(events, {
      [name]: (...args: unknown[]) => {
        calls.push(name)
        return original.apply(events, args)
      },
    })
  }
  t.hq.job('J', async () => {})
  await t.work()
  const began = performance.now()
  for (let n = 0; n < 200; n++) await t.hq.push({ class: 'J', args: [n] })
  await t.settled()
  expect(calls.length).toBeLessThanOrEqual(2 + (performance.now() - began) / 1000)
  expect(new Set(calls)).toEqual(new Set(['isRecording']))
})

test('a worker that is killed has recorded what it settled, and its rescuer records the rest', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  t.hq.job('Long', async () => {})
  const jid = await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { leaseSeconds: 1 })
  await child.waitFor('began')
  await until(() => received.all.some(({ kind }) => kind === 'started'))
  child.kill('SIGKILL')
  await child.exited
  await t.work({ leaseSeconds: 1 })
  await until(() => received.all.some(({ kind }) => kind === 'succeeded'))
  const kinds = kindsOf(received.all, jid).filter((kind) => kind !== 'progress')
  expect(kinds).toEqual(['pushed', 'started', 'retried', 'started', 'succeeded'])
  expect(received.all.find(({ kind }) => kind === 'retried')).toMatchObject({ reason: 'crashed' })
})

test('jobs of a transaction, of a cron entry and idempotent jobs record their push once', async () => {
  const t = bench()
  await recorded(t)
  const received = await reading(t)
  const J = t.hq.job('J', async () => {})
  const once = await J.set({ idempotent: true, jid: 'a'.repeat(24) } as never).performAsync()
  const nightly = t.hq.cron('nightly', '0 3 * * *', J)
  await t.work({ queues: ['nothing'] })
  await until(() => nightly.info())
  await nightly.runNow()
  if (t.hq.store.jobs.transaction) await t.hq.transaction(() => void J.performAsync())
  const wanted = t.hq.store.jobs.transaction ? 3 : 2
  await received.atLeast(wanted)
  await t.hq.push({ class: 'Last', args: [] })
  await until(() => received.all.some(({ job }) => job === 'Last'))
  expect(received.all.map(({ job, kind }) => [job, kind])).toEqual([
    ...Array.from({ length: wanted }, () => ['J', 'pushed']),
    ['Last', 'pushed'],
  ])
  expect(kindsOf(received.all, once)).toEqual(['pushed'])
})

test('wrong options are refused with what is right', () => {
  const t = bench()
  const events = (options: unknown) => () => t.hq.events(options as never)
  expect(events({ kinds: ['failed', 'done'] })).toThrow(
    'hq.events: kinds must be an array of pushed, started, progress, succeeded, failed, retried, died, cancelled (one is "done")',
  )
  expect(events({ kinds: 'failed' })).toThrow('hq.events: kinds must be an array of strings (got "failed")')
  expect(events({ jobs: 'J' })).toThrow('hq.events: jobs must be an array of strings (got "J")')
  expect(events({ after: 'x' })).toThrow('hq.events: after must be the id of an event (got "x")')
  expect(events({ after: '123.1' })).toThrow('hq.events: after must be the id of an event (got "123.1")')
  expect(events({ since: '1' })).toThrow('hq.events: there is no option since')
  expect(() => bench({ events: {} as never })).toThrow('new Highkiq: events needs keep')
  expect(() => bench({ events: { keep: 0 } })).toThrow('new Highkiq: events: keep must be a whole number of events')
})

test('a signal ends the loop, also while it waits', async () => {
  const t = bench()
  await recorded(t)
  const ending = new AbortController()
  const loop = (async () => {
    for await (const _ of t.hq.events({ signal: ending.signal }));
  })()
  await sleep(20)
  ending.abort()
  await loop
})
