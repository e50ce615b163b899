import { expect, test } from 'vitest'
import type { AuditEntry } from '../../src/http/access/audit.ts'
import { api } from './api.ts'

test('a job of each place gets other arguments, by its id and by its key, once', async () => {
  const audited: AuditEntry[] = []
  const { call, hq } = api({ audit: (entry) => audited.push(entry) })
  const jids = {
    queue: await hq.push({ class: 'J', args: [1] }),
    scheduled: await hq.push({ class: 'J', args: [1], wait: 3600 }),
  }
  for (const [place, path] of [
    ['queue', `/queues/default/jobs/${jids.queue}`],
    ['scheduled', `/scheduled/${jids.scheduled}`],
  ] as const) {
    const { key } = (await call('GET', `/api/v1${path}`)).body
    const edit = (args: unknown, query = '') => call('POST', `/api/v1${path}/edit${query}`, { json: { args } })
    expect((await edit([{ to: 'ann' }, 2], `?key=${encodeURIComponent(key)}`)).body, place).toEqual({
      done: 1,
      refused: 0,
    })
    expect((await call('GET', `/api/v1${path}`)).body.args).toEqual([{ to: 'ann' }, 2])
    // The key names the text before.
    expect((await edit([3], `?key=${encodeURIComponent(key)}`)).status).toBe(404)
    expect((await edit([4])).body).toEqual({ done: 1, refused: 0 })
    expect(await edit('x')).toMatchObject({ status: 400 })
    expect((await edit('x')).text).toContain('must be an array, one element for each argument')
  }
  expect(
    audited
      .filter(({ action }) => action.endsWith('/edit'))
      .map(({ action, target, count }) => [action, target, count]),
  ).toEqual([
    ['POST /api/v1/queues/{name}/jobs/{jid}/edit', { name: 'default', jid: jids.queue }, 1],
    ['POST /api/v1/queues/{name}/jobs/{jid}/edit', { name: 'default', jid: jids.queue }, 1],
    ['POST /api/v1/scheduled/{jid}/edit', { jid: jids.scheduled }, 1],
    ['POST /api/v1/scheduled/{jid}/edit', { jid: jids.scheduled }, 1],
  ])
})

test('a big integer stays as it was written', async () => {
  const { handle, hq } = api()
  const jid = await hq.push({ class: 'J', args: [1] })
  const request = new Request(`http://localhost:7433/api/v1/queues/default/jobs/${jid}/edit`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"args":[1152921504606846977]}' },
  })
  expect((await handle(request)).status).toBe(200)
  expect((await hq.queue('default').page()).items[0]?.text).toContain('[1152921504606846977]')
})

test('a job is pushed again as a new one', async () => {
  const { call, hq } = api()
  const jid = await hq.push({ class: 'J', args: [1], wait: 3600, tags: ['vip'] })
  const { body } = await call('POST', `/api/v1/scheduled/${jid}/duplicate`)
  expect(body).toEqual({ jid: expect.stringMatching(/^[0-9a-f]{24}$/) })
  expect((await hq.queue('default').page()).items.map(({ jid, args, tags }) => ({ jid, args, tags }))).toEqual([
    { jid: body.jid, args: [1], tags: ['vip'] },
  ])
  expect(await hq.scheduled.size()).toBe(1)
})

test('arguments with hidden parts are not edited, because the hidden parts would be lost', async () => {
  const { call, hq } = api({ redact: ['password'] })
  const [hidden, shown] = [
    await hq.push({ class: 'J', args: [{ password: 'x' }] }),
    await hq.push({ class: 'J', args: [{ name: 'x' }] }),
  ]
  const edit = (jid: string | null) =>
    call('POST', `/api/v1/queues/default/jobs/${jid}/edit`, { json: { args: [{ password: '[redacted]' }] } })
  expect(await edit(hidden)).toMatchObject({ status: 400 })
  expect((await edit(hidden)).text).toContain('parts of these arguments are hidden here')
  expect(await edit(shown)).toMatchObject({ status: 200 })
})

test('a server that is read-only refuses both', async () => {
  const { call, hq } = api({ readOnly: true })
  const jid = await hq.push({ class: 'J', args: [1] })
  for (const what of ['edit', 'duplicate']) {
    expect((await call('POST', `/api/v1/queues/default/jobs/${jid}/${what}`, { json: { args: [] } })).status).toBe(403)
  }
})
