import { expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { api } from './api.ts'

test('processes are listed with their heartbeat data, and receive signals', async () => {
  const t = api()
  const received = new Collector<string>()
  t.hq.on('quiet', () => received.add('quiet'))
  const worker = await t.work({ concurrency: 3, queues: ['a', 'b'], tag: 'shop', labels: ['x'] } as never)
  const old = { concurrency: 2, busy: 1, beat: Date.now() - 40_000, quiet: false, rss: 9 }
  await t.hq.store.workers.heartbeat({ identity: 'ruby:1:abc', info: 'no json', ...old }, 60)
  const list = async () => (await t.call('GET', '/api/v1/processes')).body.items
  const items = await list()
  expect(items).toHaveLength(2)
  const ours = items.find(({ ours }: { ours: boolean }) => ours)
  expect(ours).toMatchObject({ concurrency: 3, queues: ['a', 'b'], state: 'live', quiet: false, pid: process.pid })
  expect(Object.keys(ours)).toEqual([
    ...[
      'identity',
      'hostname',
      'pid',
      'tag',
      'labels',
      'queues',
      'definedQueues',
      'version',
      'ours',
      'embedded',
      'busy',
    ],
    ...['concurrency', 'orderedConcurrency', 'capsules', 'rss', 'quiet', 'leader', 'startedAt', 'beat', 'state'],
  ])
  const other = items.find(({ ours }: { ours: boolean }) => !ours)
  expect(other).toMatchObject({ identity: 'ruby:1:abc', state: 'silent', busy: 1, rss: 9 })

  for (const name of ['quiet', 'stop', 'trace']) {
    const gone = await t.call('POST', `/api/v1/processes/nobody/${name}`)
    expect([gone.status, gone.body.error.code]).toEqual([404, 'UNKNOWN_PROCESS'])
  }
  const signals = { quiet: 'TSTP', stop: 'TERM', trace: 'TTIN' }
  for (const [name, signal] of Object.entries(signals)) {
    const sent = await t.call('POST', `/api/v1/processes/${encodeURIComponent('ruby:1:abc')}/${name}`)
    expect([sent.status, sent.body.identity]).toEqual([202, 'ruby:1:abc'])
    const beat = await t.hq.store.workers.heartbeat({ identity: 'ruby:1:abc', info: '{}', ...old }, 60)
    expect(beat.signal).toBe(signal)
  }

  const set = (identity: string, json: object) =>
    t.call('PATCH', `/api/v1/processes/${encodeURIComponent(identity)}`, { json })
  const about = { highkiq: '0.2.0', capsules: { default: { concurrency: 2 } } }
  const info = JSON.stringify(about)
  await t.hq.store.workers.heartbeat({ identity: 'other:1:a', info, ...old }, 60)
  const changed = await set('other:1:a', { concurrency: 7 })
  expect([changed.status, changed.body.capsules]).toEqual([202, [{ name: 'default', concurrency: 2 }]])
  expect((await t.hq.store.workers.heartbeat({ identity: 'other:1:a', info, ...old }, 60)).signal).toBe(
    'CONCURRENCY 7 default',
  )
  const refused = [
    await set('other:1:a', { concurrency: 0 }),
    await set('other:1:a', { concurrency: 3, capsule: 'mail' }),
    await set('ruby:1:abc', { concurrency: 3 }),
    await set('nobody', { concurrency: 3 }),
  ]
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual([
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_OPTION'],
    [400, 'INVALID_OPTION'],
    [404, 'UNKNOWN_PROCESS'],
  ])
  // A worker inside another program obeys, too, at its next heartbeat.
  expect((await set(ours.identity, { concurrency: 5 })).status).toBe(202)
  await until(() => worker.concurrency === 5)
})

test('running jobs are listed, longest first, with their progress', async () => {
  const t = api()
  const doors = gate()
  const begun = new Collector<number>()
  t.hq.job('Slow', async (ctx, n: number) => {
    ctx.progress(n, 10, 'on the way')
    begun.add(n)
    await doors.opened
  })
  const worker = await t.work({ concurrency: 3 })
  for (const n of [1, 2]) await t.hq.push({ class: 'Slow', args: [n], tags: ['t'] })
  await begun.atLeast(2)
  await worker.quiet()
  const running = async (query = '') => (await t.call('GET', `/api/v1/running${query}`)).body.items
  await until(async () => (await running()).length === 2)
  const items = await running()
  expect(items.map(({ preview }: { preview: string }) => preview).sort()).toEqual(['[1]', '[2]'])
  expect(items[0]).toMatchObject({ class: 'Slow', queue: 'default', tags: ['t'] })
  expect(items[0].progress).toMatchObject({ total: 10, note: 'on the way' })
  expect(items[0].startedAt <= items[1].startedAt).toBe(true)
  expect(await running('?limit=1')).toEqual([items[0]])
  doors.open()
})

test('running jobs are filtered by text, class, queue, tag, process and age, and read page by page', async () => {
  const t = api()
  const now = t.clock.now()
  const running = Array.from({ length: 12 }, (_, n) => {
    const queue = n % 2 ? 'mail' : 'images'
    const job = {
      class: n % 3 ? 'Send' : 'Resize',
      args: [`customer ${n}`],
      queue,
      jid: `jid-${n}`,
      tags: [`t${n % 4}`],
    }
    return { slot: `s${n}`, queue, text: JSON.stringify(job), startedAt: now - n * 60_000 }
  })
  const record = { info: '{}', concurrency: 9, busy: 6, beat: now, quiet: false, rss: 1 }
  for (const [i, identity] of ['a:1:a', 'b:2:b'].entries()) {
    const own = running.filter((_, n) => n % 2 === i)
    await t.hq.store.workers.heartbeat({ ...record, identity }, 60, own)
  }
  const found = async (query: string) => {
    const { body, status, text } = await t.call('GET', `/api/v1/running?${query}`)
    expect(status, text).toBe(200)
    expect(body.total).toBe(12)
    return body
  }
  const jids = (body: { items: { jid: string }[] }) => body.items.map(({ jid }) => Number(jid.slice(4)))
  const matching = async (query: string) => {
    const body = await found(query)
    expect(body.matching).toBe(body.items.length)
    return jids(body)
  }
  const longestFirst = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
  expect(await matching('')).toEqual(longestFirst)
  expect(await matching('class=Resize')).toEqual([9, 6, 3, 0])
  expect(await matching('queue=mail')).toEqual([11, 9, 7, 5, 3, 1])
  expect(await matching('tag=t2')).toEqual([10, 6, 2])
  expect(await matching('process=a:1:a')).toEqual([10, 8, 6, 4, 2, 0])
  expect(await matching('search=customer 11')).toEqual([11])
  expect(await matching('seconds=540')).toEqual([11, 10, 9])
  expect(await matching('seconds=540&queue=mail&class=Resize')).toEqual([9])
  expect(await matching('class=Nothing')).toEqual([])

  const pages: number[] = []
  let cursor = ''
  do {
    const body = await found(`limit=5${cursor && `&cursor=${cursor}`}`)
    expect(body.matching).toBe(12)
    pages.push(...jids(body))
    cursor = body.next ?? ''
  } while (cursor !== '')
  expect(pages).toEqual(longestFirst)

  // Jobs that end meanwhile do not move the others to another page.
  const first = await found('limit=5')
  await t.hq.store.workers.heartbeat({ ...record, identity: 'b:2:b' }, 60, [])
  const { body } = await t.call('GET', `/api/v1/running?limit=5&cursor=${first.next}`)
  expect(jids(body)).toEqual([6, 4, 2, 0])

  const { next } = (await t.call('GET', '/api/v1/running?limit=2')).body
  for (const [path, wrong] of [
    ['/api/v1/running', 'cursor=odd'],
    ['/api/v1/running', 'seconds=-1'],
    ['/api/v1/queues/none/jobs', `class=A&order=odd&cursor=${next}`],
  ]) {
    expect((await t.call('GET', `${path}?${wrong}`)).status, wrong).toBe(400)
  }
})

test('cron entries are listed, run, paused and resumed', async () => {
  const t = api()
  const Nightly = t.hq.job('Nightly', async (_ctx, _what: string) => {})
  t.hq.cron('nightly', '30 3 * * *', Nightly, { args: ['shop'], timeZone: 'Europe/Berlin', overlap: 'skip' })
  expect((await t.call('GET', '/api/v1/cron')).body).toEqual({ items: [], next: null })
  // An action stores the entry.
  const paused = await t.call('POST', '/api/v1/cron/nightly/pause')
  expect(paused.body).toMatchObject({ name: 'nightly', paused: true, nextAt: null, args: ['shop'], job: 'Nightly' })
  const resumed = await t.call('POST', '/api/v1/cron/nightly/resume')
  expect(resumed.body).toMatchObject({ paused: false, defined: true, timeZone: 'Europe/Berlin', lastJid: null })
  expect(resumed.body.next).toHaveLength(5)
  expect(resumed.body.nextAt).toBe(resumed.body.next[0])
  const run = await t.call('POST', '/api/v1/cron/nightly/run')
  expect(run.status).toBe(202)
  expect((await t.queue()).map(({ jid, args }) => [jid, args])).toEqual([[run.body.jid, ['shop']]])
  const busy = await t.call('POST', '/api/v1/cron/nightly/run')
  expect([busy.status, busy.body.error.code]).toEqual([409, 'CRON_BUSY'])
  expect((await t.call('GET', '/api/v1/cron')).body.items).toMatchObject([
    { lastJid: run.body.jid, runs: [{ jid: run.body.jid, tick: null, state: 'waiting', endedAt: null }] },
  ])
  for (const name of ['run', 'pause', 'resume']) {
    const none = await t.call('POST', `/api/v1/cron/none/${name}`)
    expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_CRON'])
  }
})

test('the locks of unique jobs are listed page by page', async () => {
  const t = api()
  const jids = Array.from({ length: 600 }, (_, n) => `lock:${n}`)
  await t.hq.pushBulk({ class: 'U', args: jids.map((jid) => [jid]), jid: jids })
  const pages: string[][] = []
  let next: string | null = ''
  while (next !== null) {
    const { body } = await t.call('GET', `/api/v1/locks?limit=100${next && `&cursor=${encodeURIComponent(next)}`}`)
    pages.push(body.items.map(({ jid }: { jid: string }) => jid))
    next = body.next
  }
  expect(pages.length).toBeGreaterThan(2)
  expect(new Set(pages.flat())).toEqual(new Set(jids))
  const { body } = await t.call('GET', '/api/v1/locks?limit=100&search=lock%3A59')
  expect(body.items.map(({ jid }: { jid: string }) => jid).sort()).toEqual(
    jids.filter((jid) => jid.startsWith('lock:59')).sort(),
  )
  expect(body.next).toBe(null)
  const forged = await t.call('GET', '/api/v1/locks?cursor=forged')
  expect(forged).toMatchObject({ status: 400, body: { error: { code: 'INVALID_REQUEST' } } })
})

test('the locks of unique jobs are listed and released', async () => {
  const t = api()
  const jid = await t.hq
    .job('U', () => {})
    .set({ jid: 'a:1' })
    .performAsync()
  const { items } = (await t.call('GET', '/api/v1/locks')).body
  expect(items).toEqual([{ key: 'jid:a:1', jid, endsAt: null, outlivesJob: false }])
  const release = (query: string) => t.call('POST', `/api/v1/locks/jid%3Aa%3A1/release${query}`)
  expect((await release('')).status).toBe(400)
  expect((await release('?jid=b')).body).toMatchObject({ done: 0, refused: 1 })
  expect((await release('?jid=a:1')).body).toEqual({ done: 1, refused: 0 })
  expect((await release('?jid=a:1')).body).toMatchObject({ done: 0, refused: 1 })
  expect((await t.call('GET', '/api/v1/locks?limit=1')).body).toEqual({ items: [], next: null })
})
