import { expect, onTestFinished, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { type Api, api, served } from './api.ts'
import { eventsOf, type Told } from './events.ts'

/** Opens the stream, with a recording that all processes know of. */
async function opened({ hq, handle }: Api, query = '', seen?: string) {
  await hq.store.events.record(null, hq.now())
  await hq.store.events.confirm(hq.now())
  const headers: RequestInit['headers'] = seen === undefined ? {} : { 'last-event-id': seen }
  const response = await handle(new Request(`http://localhost/api/v1/events${query}`, { headers }))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const events = eventsOf(response)
  onTestFinished(async () => void (await events.return(undefined)))
  return async () => (await events.next()).value as Told
}

test('the stream of events sends each event of the jobs that its filters choose', async () => {
  const t = api()
  t.hq.job('Wanted', { queue: 'one' }, async () => {})
  const next = await opened(t, '?jobs=Wanted,Other&queues=one&kinds=pushed,succeeded')
  expect(await next()).toMatchObject({ event: 'ready', id: expect.stringMatching(/^\d+-\w+$/) })
  await t.hq.push({ class: 'Else', args: [], queue: 'one' })
  const jid = await t.hq.push({ class: 'Wanted', args: [], queue: 'one' })
  await t.work({ queues: ['one'] })
  const pushed = await next()
  const about = { jid, job: 'Wanted', queue: 'one', at: expect.any(String) }
  expect(JSON.parse(pushed.data as string)).toEqual({ id: pushed.id, kind: 'pushed', ...about })
  const { event, data } = await next()
  expect([event, JSON.parse(data as string)]).toEqual(['succeeded', expect.objectContaining({ ...about, attempt: 1 })])
})

test('a client continues behind the last event that it has seen, and sees none twice', async () => {
  const t = api()
  const next = await opened(t)
  const ready = await next()
  const jids: (string | null)[] = []
  for (let n = 0; n < 50; n++) jids.push(await t.hq.push({ class: 'J', args: [n] }))
  const first = [await next(), await next()]
  const jidOf = ({ data }: Told) => JSON.parse(data as string).jid
  expect(first.map(jidOf)).toEqual(jids.slice(0, 2))
  const again = await opened(t, '', first[1]?.id)
  expect((await again()).event).toBe('ready')
  const rest: Told[] = []
  while (rest.length < 48) rest.push(await again())
  expect(rest.map(jidOf)).toEqual(jids.slice(2))
  const byQuery = await opened(t, `?after=${ready.id}`)
  expect((await byQuery()).event).toBe('ready')
  expect(jidOf(await byQuery())).toBe(jids[0])
})

test('a stream behind events that are not kept any more sends trouble and ends', async () => {
  const t = api()
  const next = await opened(t, '?after=5-abc')
  expect((await next()).event).toBe('ready')
  const { event, data } = await next()
  expect([event, JSON.parse(data as string).code]).toEqual(['trouble', 'EVENTS_TRIMMED'])
  expect(await next()).toBeUndefined()
})

test('an unexpected error ends the stream, and is in the log of the server', async () => {
  const t = api()
  const read = () => Promise.reject(new TypeError('a bug'))
  Object.assign(t.hq.store.events, { read })
  const { event, data } = await (await opened(t))()
  expect([event, JSON.parse(data as string).code]).toEqual(['trouble', 'INTERNAL_ERROR'])
  expect(t.log.lines).toMatchObject([{ level: 'error', about: { err: { message: 'a bug' } } }])
})

test('a stream ends without trouble when the app of its server closes', async () => {
  const t = api()
  const next = await opened(t)
  expect((await next()).event).toBe('ready')
  await t.hq.close()
  expect(await next()).toBeUndefined()
})

test('wrong filters of events are refused', async () => {
  const { call } = api()
  expect((await call('GET', '/api/v1/events?kinds=done')).status).toBe(400)
  expect((await call('GET', '/api/v1/events?jobs=a,,b')).status).toBe(400)
})

/** Expects the trouble that ends a stream behind an unknown id. A browser forgets the id, and begins with new events. */
async function expectUnknown(next: () => Promise<Told>): Promise<void> {
  const told = await next()
  const { code, message } = JSON.parse(told.data as string)
  expect([Object.keys(told), told.event, code]).toEqual([['id:', 'event', 'data'], 'trouble', 'EVENTS_TRIMMED'])
  expect(message).toMatch(/^this server knows no event with the id "/)
  expect(await next()).toBeUndefined()
}

test('a stream behind an id that the server does not know sends trouble and ends', async () => {
  await expectUnknown(await opened(api(), '', 'x'))
  await expectUnknown(await opened(api(), '?after=x'))
})

test('a browser that was connected before redact was switched on or off reconnects, and begins with new events', async () => {
  const [plain, hiding] = [api(), api({ redact: ['error_message'] })]
  const { id: old } = await (await opened(plain))()
  const { id: sealed } = await (await opened(hiding))()
  await expectUnknown(await opened(hiding, '', old))
  await expectUnknown(await opened(plain, '', sealed))
  expect((await (await opened(hiding))()).event).toBe('ready')
})

test('streams of events need a login, and count towards the limit of streams until they are closed', async () => {
  const locked = api({ auth: { bearer: 'secret' } })
  const foreign = await locked.handle(new Request('https://jobs.example/api/v1/events'))
  expect(foreign.status).toBe(401)
  const { url } = await served({ limits: { streams: 1 } })
  const leave = new AbortController()
  expect((await fetch(`${url}/api/v1/events`, { signal: leave.signal })).status).toBe(200)
  expect((await fetch(`${url}/api/v1/events`)).status).toBe(429)
  leave.abort()
  await until(async () => {
    const { status, body } = await fetch(`${url}/api/v1/events`)
    await body?.cancel()
    return status === 200
  })
})

test('what the rules of the server hide is hidden in events, too', async () => {
  const t = api({ redact: ['error_message', 'note'] })
  t.hq.job('J', { retry: false }, async (ctx) => {
    ctx.progress(1, 2, 'secret')
    throw new Error('secret')
  })
  const next = await opened(t, '?kinds=progress,failed')
  await next()
  await t.work()
  await t.hq.push({ class: 'J', args: [] })
  const told = [await next(), await next()].map(({ data }) => JSON.parse(data as string))
  expect(told).toMatchObject([
    { kind: 'progress', progress: { done: 1 } },
    { kind: 'failed', error: { class: 'Error' } },
  ])
  expect(JSON.stringify(told)).not.toContain('secret')
})

test('ids of a server with rules do not tell whether a guess of what they hide is right', async () => {
  const t = api({ redact: ['error_message'] })
  t.hq.job('J', { retry: false }, async () => {
    throw new Error('secret')
  })
  const next = await opened(t, '?kinds=failed,died')
  const [ready, plain] = [await next(), await t.hq.events().position()]
  await t.work()
  await t.hq.push({ class: 'J', args: [] })
  const [failed, died] = [await next(), await next()]
  for (const { id, data } of [failed, died]) {
    expect([id, JSON.parse(data as string).id]).toEqual([expect.stringMatching(/^[\w-]{50,}$/), id])
  }
  const again = await opened(t, '?kinds=failed,died', failed.id)
  expect([await again(), await again()]).toMatchObject([{ event: 'ready' }, died])
  await expectUnknown(await opened(t, `?after=${plain}`))
  // Nor does the error that ends a stream.
  await t.hq.store.events.record(1, t.hq.now())
  await t.hq.pushBulk({ class: 'Other', args: Array.from({ length: 3000 }, (_, n) => [n]) })
  const late = await opened(t, '', ready.id)
  await late()
  const { data } = await late()
  expect(JSON.parse(data as string)).toMatchObject({ code: 'EVENTS_TRIMMED', details: { after: ready.id } })
  expect(data).not.toContain(plain)
})

test('the detail of a finished job has its result and its times', async () => {
  const t = api()
  t.hq.job('Kept', { keepFinished: true }, async () => 7)
  await t.work()
  const jid = await t.hq.push({ class: 'Kept', args: [] })
  await until(async () => (await t.hq.find(String(jid))).state === 'succeeded')
  const { body } = await t.call('GET', `/api/v1/jobs/${jid}`)
  expect(body).toMatchObject({ state: 'succeeded', result: 7 })
  expect(Date.parse(body.finishedAt)).toBeGreaterThanOrEqual(Date.parse(body.startedAt))
  expect((await t.call('GET', '/api/v1/jobs/none')).body).toMatchObject({ startedAt: null, finishedAt: null })
})
