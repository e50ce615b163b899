/** `GET /api/v1/diagnosis`: the findings of `highkiq doctor` over HTTP. */

import type { Highkiq } from 'highkiq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { gate } from '../engine/bench.ts'
import { api } from './api.ts'

interface Finding {
  check: string
  severity: string
  text: string
  advice?: string
}

/** Another program runs the waiting jobs, which knows nothing of locks. */
async function loseJobs(hq: Highkiq): Promise<void> {
  for (const text of await hq.store.jobs.peek('default', 0, 10)) {
    await hq.store.search.pull('default', [{ text, to: null }], hq.now())
  }
}

test('the server examines the store, the workers and the jobs, also when it is read-only, and shows no secret', async () => {
  const t = api({ readOnly: true })
  await t.hq.push({ class: 'Waits', args: [1], queue: 'a&b' })
  const { status, body } = await t.call('GET', '/api/v1/diagnosis')
  expect([status, body.status, body.store]).toEqual([200, 'error', t.hq.store.url])
  expect(body.findings).toContainEqual({
    check: 'queues',
    severity: 'error',
    code: 'queue-waits-unserved',
    params: { queue: 'a&b', n: 1, command: "highkiq work -q 'a&b'" },
    text: 'no worker serves the queue a&b, where 1 job waits',
    advice: "Start one: highkiq work -q 'a&b'",
  })
  expect(body.findings).toContainEqual({
    check: 'orphaned',
    severity: 'ok',
    code: 'orphaned-none',
    text: 'no job belongs to a worker that died',
  })
})

test('one examination runs at a time, and its answer is reused for five seconds from its end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const t = api()
  const [began, ended] = [gate(), gate()]
  let runs = 0
  const { store } = t.hq
  const diagnose = store.diagnose?.bind(store)
  store.diagnose = async () => {
    runs++
    began.open()
    await ended.opened
    return (await diagnose?.()) ?? []
  }
  const ask = () => t.call('GET', '/api/v1/diagnosis')
  const first = ask()
  await began.opened
  vi.advanceTimersByTime(6000)
  await t.call('POST', '/api/v1/queues/mail/pause')
  const second = ask()
  await t.call('GET', '/api/v1/about')
  expect(runs).toBe(1)
  ended.open()
  expect((await first).text).toBe((await second).text)
  vi.advanceTimersByTime(4999)
  await ask()
  expect(runs).toBe(1)
  vi.advanceTimersByTime(1)
  await ask()
  expect(runs).toBe(2)
})

test('a read-only server writes nothing, and says that it tried no write', async () => {
  const t = api({ readOnly: true })
  const written = vi.spyOn(t.hq.store.workers, 'acquireLock')
  const { body } = await t.call('GET', '/api/v1/diagnosis')
  expect(body.findings).toContainEqual({
    check: 'store',
    severity: 'ok',
    code: 'store-read-only',
    params: { url: t.hq.store.url, ms: expect.any(Number) },
    text: expect.stringMatching(/ answers, in .* ms; no write was tried, because this server is read-only$/),
  })
  expect(written).not.toHaveBeenCalled()
})

test('names in commands are quoted for a shell', async () => {
  const t = api()
  await t.hq.push({ class: 'Waits', args: [1], queue: '$(a)' })
  await t.hq.queue('$(a)').pause()
  const Once = t.hq.job('Once', { unique: true }, (_ctx, _n: number) => {})
  await Once.set({ jid: "it's" }).performAsync(1)
  await loseJobs(t.hq)
  const { body } = await t.call('GET', '/api/v1/diagnosis')
  const advice = (body.findings as Finding[]).map(({ advice = '' }) => advice)
  expect(advice).toContain("To resume it: highkiq resume '$(a)'")
  expect(advice.find((text) => text.includes('highkiq locks release'))).toMatch(/ 'it'\\''s'$/)
})

test.each([true, false])('a server with redact hides the key of a lock, others show it: %s', async (isHidden) => {
  const t = api(isHidden ? { redact: ['password'] } : {})
  const Once = t.hq.job('Once', { unique: true }, (_ctx, _n: number) => {})
  const jid = await Once.performAsync(1)
  const key = (await t.hq.uniqueLocks.of(Once, 1))?.key as string
  await loseJobs(t.hq)
  const { body, text } = await t.call('GET', '/api/v1/diagnosis')
  const lock = (body.findings as Finding[]).find(({ check }) => check === 'locks')
  const shown = isHidden ? '[redacted]' : key
  expect(lock).toMatchObject({ severity: 'warning', text: expect.stringContaining(`job ${jid} has the lock ${shown}`) })
  expect(text.includes(key)).toBe(!isHidden)
  const release = isHidden ? '' : `; to do it now: highkiq locks release ${key} ${jid}`
  expect(lock?.advice).toBe(`A running worker releases it within minutes${release}`)
})
