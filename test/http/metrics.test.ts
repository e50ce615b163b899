import type { HttpOptions } from 'highkiq/http'
import { expect, test } from 'vitest'
import { api } from './api.ts'

const minute = () => Math.floor(Date.now() / 60_000) * 60_000
const histogram = (filled: Record<number, number>) => Array.from({ length: 26 }, (_, bucket) => filled[bucket] ?? 0)

test('the classes that took the most time, and the runs of one class', async () => {
  const { call, hq } = api()
  const at = minute() - 120_000
  const jobs = [
    { name: 'Quick', processed: 1500, failed: 0, ms: 1000, histogram: histogram({ 0: 1500 }) },
    { name: 'Shop/Slow', processed: 41, failed: 1, ms: 5200, histogram: histogram({ 5: 30, 6: 10 }) },
    { name: 'Bad', processed: 1, failed: 1, ms: 0, histogram: [] },
  ]
  await hq.store.metrics.record({ source: 'test', number: 1, at, jobs })
  await hq.deploy('v1', new Date(at))
  const { body } = await call('GET', '/api/v1/metrics?minutes=10')
  const figures = body.jobs.map(({ name, success, failed, p50, p99 }: typeof body) => [name, success, failed, p50, p99])
  expect(figures).toEqual([
    ['Shop/Slow', 40, 1, expect.closeTo(0.133), expect.closeTo(0.222)],
    ['Quick', 1500, 0, expect.closeTo(0.01), expect.closeTo(0.0198)],
    ['Bad', 0, 1, null, null],
  ])
  const names = async (by: string) =>
    (await call('GET', `/api/v1/metrics?minutes=10&by=${by}`)).body.jobs.map(({ name }: typeof body) => name)
  expect(await names('p95')).toEqual(['Shop/Slow', 'Quick', 'Bad'])
  expect(await names('processed')).toEqual(['Quick', 'Shop/Slow', 'Bad'])
  expect(body.jobs[0].steps).toEqual([{ at: new Date(at).toISOString(), processed: 41, failed: 1, seconds: 5.2 }])
  expect([body.step, body.deploys]).toEqual([60, [{ at: new Date(at).toISOString(), label: 'v1' }]])
  const hours = (await call('GET', '/api/v1/metrics?hours=24&filter=SLOW')).body
  expect([hours.step, hours.jobs.length, hours.jobs[0].p50]).toEqual([600, 1, expect.closeTo(0.133)])
  const one = (await call('GET', '/api/v1/metrics/Shop%2FSlow?minutes=5')).body
  expect(one).toMatchObject({ name: 'Shop/Slow', processed: 41, average: 0.13, p95: expect.closeTo(0.21, 2) })
  expect(one.steps).toHaveLength(1)
  expect(one.histogram[5]).toEqual({ label: '150ms', count: 30 })
  expect((await call('GET', '/api/v1/metrics/Nobody')).body).toMatchObject({ processed: 0, p50: null, steps: [] })
  for (const query of ['minutes=481', 'hours=73', 'hours=0', 'minutes=x', 'by=name']) {
    expect((await call('GET', `/api/v1/metrics?${query}`)).status, query).toBe(400)
  }
})

test('of many classes the first have percentiles, and by p95 the slowest is first wherever it stood', async () => {
  const { call, hq } = api()
  const quick = Array.from({ length: 120 }, (_, i) => {
    return { name: `Quick${i}`, processed: 500, failed: 0, ms: 9000 + i, histogram: histogram({ 0: 500 }) }
  })
  const slow = { name: 'Slow', processed: 1, failed: 0, ms: 5000, histogram: histogram({ 15: 1 }) }
  await hq.store.metrics.record({ source: 'test', number: 1, at: minute() - 120_000, jobs: [...quick, slow] })
  const { jobs } = (await call('GET', '/api/v1/metrics?minutes=10')).body
  expect(jobs.filter(({ p95 }: { p95: number | null }) => p95 !== null)).toHaveLength(100)
  expect(jobs.at(-1)).toMatchObject({ name: 'Slow', p95: null })
  const slowest = (await call('GET', '/api/v1/metrics?minutes=10&by=p95')).body.jobs
  expect(slowest[0]).toMatchObject({ name: 'Slow', p95: expect.any(Number) })
  expect(slowest.every(({ p95 }: { p95: number | null }) => p95 !== null)).toBe(true)
})

test('deploys are listed, and the runs before and after one are compared', async () => {
  const { call, hq } = api()
  const nothing = { deploy: null, before: null, after: null, jobs: [] }
  expect((await call('GET', '/api/v1/deploys')).body).toEqual({ items: [], next: null })
  expect((await call('GET', '/api/v1/deploy-comparison?minutes=5')).body).toEqual(nothing)
  const at = minute() - 120_000
  await hq.deploy('v1', new Date(at - 600_000))
  await hq.deploy('v2', new Date(at))
  const tell = (number: number, at: number, failed: number) => {
    const jobs = [{ name: 'Mail', processed: 100, failed, ms: 500, histogram: histogram({ 0: 100 - failed }) }]
    return hq.store.metrics.record({ source: 'test', number, at, jobs })
  }
  await tell(1, at - 60_000, 0)
  await tell(2, at, 30)
  const deploys = (await call('GET', '/api/v1/deploys?days=2')).body.items
  expect(deploys.map(({ label }: { label: string }) => label)).toEqual(['v2', 'v1'])
  const { body } = await call('GET', '/api/v1/deploy-comparison')
  expect(body.deploy).toEqual({ at: new Date(at).toISOString(), label: 'v2' })
  expect(body.before).toEqual({ from: new Date(at - 600_000).toISOString(), to: new Date(at).toISOString() })
  expect(body.jobs).toMatchObject([
    { name: 'Mail', before: { processed: 100, failed: 0 }, after: { processed: 100, failed: 30 }, worse: ['fails'] },
  ])
  const first = `at=${encodeURIComponent(new Date(at - 600_000).toISOString())}&minutes=5`
  expect((await call('GET', `/api/v1/deploy-comparison?${first}`)).body).toMatchObject({
    deploy: { label: 'v1' },
    jobs: [],
  })
  expect((await call('GET', '/api/v1/deploy-comparison?at=2026-01-01T00:00:00Z')).body).toEqual(nothing)
  expect((await call('GET', '/api/v1/deploy-comparison?at=yesterday')).status).toBe(400)
})

interface Series {
  labels: Record<string, string>
  value: number
  /** Of a histogram: bucket, sum or count. */
  part?: string
}

/** Parses the text format of Prometheus strictly. @throws what is wrong */
function read(text: string): Map<string, { type: string; series: Series[] }> {
  const families = new Map<string, { type: string; series: Series[] }>()
  const seen = new Set<string>()
  expect(text.endsWith('\n')).toBe(true)
  let help: string | undefined
  let current: string | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
    if (comment) {
      const [, kind, name = '', rest = ''] = comment
      if (families.has(name)) throw new Error(`${name} is there twice`)
      if (kind === 'HELP') {
        help = name
        if (/(^|[^\\])(\\\\)*\\([^\\n]|$)/.test(rest)) throw new Error(`wrong escape: ${line}`)
        continue
      }
      if (help !== name || !['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(line)
      current = name
      families.set(name, { type: rest, series: [] })
      continue
    }
    const [, series = '', labels, value = ''] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$/.exec(line) ?? []
    const isHistogram = families.get(current ?? '')?.type === 'histogram'
    const [name, part] = isHistogram ? [current ?? '', series.slice(`${current}_`.length)] : [series, undefined]
    if (part !== undefined && !['bucket', 'sum', 'count'].includes(part)) throw new Error(`no part: ${line}`)
    const family = families.get(name)
    if (!family || name !== current) throw new Error(`not of its family: ${line}`)
    if (!/^\d+(\.\d+)?(e[+-]?\d+)?$/.test(value)) throw new Error(`no number: ${line}`)
    const one = { labels: labels ? labelsOf(labels) : {}, value: Number(value), ...(part ? { part } : {}) }
    if ((part === 'bucket') !== 'le' in one.labels) throw new Error(`le: ${line}`)
    const id = JSON.stringify([name, one.labels, part])
    if (seen.has(id)) throw new Error(`twice: ${line}`)
    seen.add(id)
    family.series.push(one)
  }
  for (const [name, { type, series }] of families) {
    if (series.length === 0) throw new Error(`${name} has no values`)
    if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${type}`)
  }
  return families
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let rest = text.slice(1, -1)
  while (rest !== '') {
    const [all = '', name = '', value = ''] = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest) ?? []
    if (all === '' || name in labels) throw new Error(`labels: ${text}`)
    labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c))
    rest = rest.slice(all.length)
  }
  return labels
}

const HOSTILE = 'a "quoted"\\ \n{name="x"} 1\n# TYPE evil counter\u0007'

test('the Prometheus text format escapes any name', async () => {
  const { call, hq, clock } = api()
  await hq.store.jobs.push(
    [{ to: 'queue', queue: 'we"ird\\', text: '{"class":"A","args":[],"jid":"1"}', end: 'back' }],
    0,
  )
  await hq.queue('paused').pause()
  await hq.ordered('Sync', { shards: 2 }, async () => {}).performAsync([{ id: 1, payload: {} }])
  const told = (number: number, at: number, processed: number) => {
    const jobs = [{ name: HOSTILE, processed, failed: 1, ms: 2500, histogram: [] }]
    return hq.store.metrics.record({ source: 'test', number, at, jobs })
  }
  const at = minute()
  clock.ahead = (at - Date.now()) / 1000 + 80
  await told(1, at, 10)
  const scrape = async () => {
    const answer = await call('GET', '/metrics', { headers: { accept: 'text/plain;version=0.0.4;q=0.3,*/*;q=0.1' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    return read(answer.text)
  }
  const first = await scrape()
  const series = (all: typeof first, name: string) => all.get(name)?.series
  expect(series(first, 'highkiq_info')).toMatchObject([{ labels: { store: hq.store.kind }, value: 1 }])
  expect(series(first, 'highkiq_enqueued')).toEqual([{ labels: {}, value: 1 }])
  expect(series(first, 'highkiq_queue_size')).toContainEqual({ labels: { queue: 'we"ird\\' }, value: 1 })
  expect(series(first, 'highkiq_queue_paused')).toContainEqual({ labels: { queue: 'paused' }, value: 1 })
  expect(series(first, 'highkiq_ordered_waiting')).toEqual([{ labels: { queue: 'Sync' }, value: 1 }])
  expect(series(first, 'highkiq_alerts')).toContainEqual({ labels: { kind: 'no-process' }, value: 1 })
  const jobs = (all: typeof first) => {
    return ['processed', 'failed', 'seconds'].map((what) => series(all, `highkiq_job_${what}_total`))
  }
  const counted = (...values: number[]) => values.map((value) => [{ labels: { class: HOSTILE }, value }])
  expect(jobs(first)).toEqual(counted(10, 1, 2.5))
  // Counters only grow: a finished minute counts once, the current one not yet.
  await told(2, at + 60_000, 5)
  expect(jobs(await scrape())).toEqual(counted(10, 1, 2.5))
  clock.ahead += 60
  expect(jobs(await scrape())).toEqual(counted(15, 2, 5))
  expect(jobs(await scrape())).toEqual(counted(15, 2, 5))
})

test('a minute counts once, also when the clock is set back or a read of the store fails', async () => {
  const { call, hq, clock } = api()
  const at = minute()
  clock.ahead = (at - Date.now()) / 1000 + 80
  const record = (number: number, at: number, processed: number) =>
    hq.store.metrics.record({
      ...{ source: 'test', number, at },
      jobs: [{ name: 'J', processed, failed: 0, ms: 1000, histogram: histogram({ 0: processed }) }],
      waits: [{ queue: 'q', ms: 250, histogram: histogram({ 0: processed }) }],
    })
  const scrape = () => call('GET', '/metrics', { headers: { accept: 'text/plain' } })
  const counts = async () => {
    const all = read((await scrape()).text)
    const names = ['highkiq_job_processed_total', 'highkiq_job_run_seconds', 'highkiq_queue_wait_seconds']
    return names.map((name) => all.get(name)?.series.find(({ part }) => part === undefined || part === 'count')?.value)
  }
  await record(1, at, 10)
  expect(await counts()).toEqual([10, 10, 10])
  clock.ahead += 3600
  expect(await counts()).toEqual([10, 10, 10])
  clock.ahead -= 3600
  expect(await counts()).toEqual([10, 10, 10])
  await record(2, at + 60_000, 5)
  clock.ahead += 60
  const { waits } = hq.store.metrics
  hq.store.metrics.waits = () => Promise.reject(new Error('no'))
  expect((await scrape()).status).toBe(500)
  hq.store.metrics.waits = waits
  expect(await counts()).toEqual([15, 15, 15])
  clock.ahead -= 120
  expect(await counts()).toEqual([15, 15, 15])
  clock.ahead += 120
  expect(await counts()).toEqual([15, 15, 15])
})

test('histograms of run times by job and of waits by queue grow, and have limited labels', async () => {
  const { call, hq, clock } = api()
  const at = minute()
  clock.ahead = (at - Date.now()) / 1000 + 80
  const one = (name: string) => ({ name, processed: 4, failed: 1, ms: 1500, histogram: histogram({ 0: 2, 25: 1 }) })
  const many = Array.from({ length: 99 }, (_, i) => one(`J${i}`))
  const wait = (queue: string) => ({ queue, ms: 250, histogram: histogram({ 1: 3 }) })
  const record = (number: number, at: number, names: string[], queues: string[]) =>
    hq.store.metrics.record({ source: 'test', number, at, jobs: names.map(one), waits: queues.map(wait) })
  await record(1, at, [HOSTILE], [HOSTILE])
  await hq.store.metrics.record({ source: 'test', number: 2, at, jobs: many })
  const scrape = async () => read((await call('GET', '/metrics', { headers: { accept: 'text/plain' } })).text)
  const values = (all: ReturnType<typeof read>, name: string, labels: Record<string, string>) => {
    const own = (all.get(name)?.series ?? []).filter((one) =>
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
    )
    const upTo = (le: string) => own.find((one) => one.labels.le === le)?.value
    const [sum, count] = ['sum', 'count'].map((part) => own.find((one) => one.part === part)?.value)
    return [upTo('0.02'), upTo('0.03'), upTo('335'), upTo('+Inf'), sum, count]
  }
  const first = await scrape()
  expect(values(first, 'highkiq_job_run_seconds', { class: HOSTILE })).toEqual([2, 2, 2, 3, 1.5, 3])
  expect(values(first, 'highkiq_queue_wait_seconds', { queue: HOSTILE })).toEqual([0, 3, 3, 3, 0.25, 3])
  expect(first.get('highkiq_job_run_seconds')?.series).toHaveLength(100 * 28)

  clock.ahead += 60
  const queues = Array.from({ length: 100 }, (_, i) => `q${i}`)
  await record(3, at + 60_000, [HOSTILE, 'J100', 'J101'], queues)
  clock.ahead += 60
  const second = await scrape()
  expect(values(second, 'highkiq_job_run_seconds', { class: HOSTILE })).toEqual([4, 4, 4, 6, 3, 6])
  expect(second.get('highkiq_job_run_seconds')?.series).toHaveLength(100 * 28)
  // Of 101 queues the last ones have one histogram together.
  const waits = second.get('highkiq_queue_wait_seconds')?.series ?? []
  expect(waits).toHaveLength(101 * 28)
  expect(values(second, 'highkiq_queue_wait_seconds', { queue: '(others)' })).toEqual([0, 3, 3, 3, 0.25, 3])
})

test('/metrics needs a login', async () => {
  const { call } = api({ auth: { bearer: 'secret' } })
  expect((await call('GET', '/metrics')).status).toBe(401)
  expect((await call('GET', '/metrics', { headers: { authorization: 'Bearer secret' } })).status).toBe(200)
})

test('/metrics serves the dashboard to browsers and metrics to Prometheus', async () => {
  const { handle } = api()
  const get = async (accept: string) =>
    (await handle(new Request('http://localhost:7433/metrics', { headers: { accept } }))).headers.get('content-type')
  expect(await get('text/html,application/xhtml+xml,*/*;q=0.8')).toMatch(/^text\/html/)
  expect(await get('text/plain;version=0.0.4;q=0.3,*/*;q=0.1')).toMatch(/^text\/plain/)
})

test('/metrics with a query gives a browser the dashboard, or the login when it is logged out', async () => {
  const ask = async (options?: HttpOptions) => {
    const request = new Request('http://localhost:7433/metrics?range=8h&by=p95', { headers: { accept: 'text/html' } })
    const { status, headers } = await api(options).handle(request)
    return [status, headers.get('content-type')]
  }
  expect(await ask()).toEqual([200, 'text/html; charset=utf-8'])
  expect(await ask({ auth: { bearer: 'secret' } })).toEqual([401, 'text/html; charset=utf-8'])
})
