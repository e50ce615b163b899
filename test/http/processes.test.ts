import { expect, test } from 'vitest'
import { gate, Heard, until } from '../engine/bench.ts'
import { api } from './api.ts'

test('processes are listed with their heartbeat data, and receive signals', async () => {
  const t = api()
  const heard = new Heard<string>()
  t.hq.on('quiet', () => heard.say('quiet'))
  await t.work({ concurrency: 3, queues: ['a', 'b'], tag: 'shop', labels: ['x'] } as never)
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
    await set(ours.identity, { concurrency: 3 }),
    await set('nobody', { concurrency: 3 }),
  ]
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual([
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_OPTION'],
    [400, 'INVALID_OPTION'],
    [409, 'EMBEDDED_PROCESS'],
    [404, 'UNKNOWN_PROCESS'],
  ])
})

test('running jobs are listed, longest first, with their progress', async () => {
  const t = api()
  const doors = gate()
  const begun = new Heard<number>()
  t.hq.job('Slow', async (ctx, n: number) => {
    ctx.progress(n, 10, 'on the way')
    begun.say(n)
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
  expect((await t.call('GET', '/api/v1/cron')).body.items).toMatchObject([{ lastJid: run.body.jid }])
  for (const name of ['run', 'pause', 'resume']) {
    const none = await t.call('POST', `/api/v1/cron/none/${name}`)
    expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_CRON'])
  }
})

test('limits in use are listed with their slots and waiting jobs', async () => {
  const t = api()
  const { opened, open } = gate()
  t.hq.job('Limited', { limit: { concurrency: 1 } }, () => opened)
  expect((await t.call('GET', '/api/v1/limits')).body).toEqual({ items: [], next: null })
  for (let n = 0; n < 2; n++) await t.hq.push({ class: 'Limited', args: [] })
  await t.work()
  await until(async () => (await t.hq.limits())[0]?.waiting === 1)
  expect((await t.call('GET', '/api/v1/limits')).body.items).toMatchObject([
    { name: 'Limited', concurrency: 1, rate: null, per: null, used: 1, waiting: 1 },
  ])
  open()
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
