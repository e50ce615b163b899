/** `ctx.message` in jobs without a task: the job itself keeps its messages. */

import { Snooze } from 'highkiq'
import { expect, test } from 'vitest'
import { all, bench, gate, until } from './bench.ts'

test('a job keeps its messages when it fails, dies or finishes', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { retry: 1, retryIn: 3600, keepFinished: true }, async (ctx, failures: number) => {
    ctx.message(`attempt ${ctx.attempt}`)
    if (ctx.attempt <= failures) throw new Error('no')
  })
  const [dies, succeeds] = [String(await Job.performAsync(2)), String(await Job.performAsync(1))]
  const messagesOf = async (jid: string) => (await t.hq.find(jid)).job?.messages.map(({ text }) => text)
  const before = Date.now()
  await t.work()
  await until(async () => (await t.set('retry')).length === 2)
  expect(await messagesOf(dies)).toEqual(['attempt 1'])
  const [message] = (await t.hq.find(dies)).job?.messages ?? []
  expect(message?.at.getTime()).toBeGreaterThanOrEqual(before)
  expect(message?.at.getTime()).toBeLessThanOrEqual(Date.now())
  t.clock.ahead = 7200
  await until(async () => (await t.hq.find(dies)).state === 'dead')
  await until(async () => (await t.hq.find(succeeds)).state === 'succeeded')
  expect(await messagesOf(dies)).toEqual(['attempt 1', 'attempt 2'])
  expect(await messagesOf(succeeds)).toEqual(['attempt 1', 'attempt 2'])
  expect((await all(t.hq.finished)).map(({ text }) => text.match(/hk_messages/g)?.length)).toEqual([1])
})

test('a finished job has the messages of its only attempt, and no member hk_messages when it added none', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { keepFinished: true }, async (ctx, text?: string) => {
    if (text !== undefined) ctx.message(text)
    return 'done'
  })
  const [spoke, silent] = [String(await Job.performAsync('a "quoted" text')), String(await Job.performAsync())]
  await t.work()
  await t.settled()
  expect(await t.hq.find(spoke)).toMatchObject({ result: 'done', job: { messages: [{ text: 'a "quoted" text' }] } })
  expect((await t.hq.find(silent)).payload).not.toHaveProperty('hk_messages')
})

test('a job that is snoozed or stopped keeps its messages', async () => {
  const t = bench()
  const begun = gate()
  t.hq.job('Later', async (ctx) => {
    ctx.message('not yet')
    throw new Snooze(3600)
  })
  t.hq.job('Long', async (ctx) => {
    ctx.message('begun')
    begun.open()
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  const [later, long] = [await t.hq.jobNamed('Later').performAsync(), await t.hq.jobNamed('Long').performAsync()]
  const worker = await t.work({ timeout: 0.01 })
  await until(async () => (await t.hq.find(String(later))).state === 'scheduled')
  await begun.opened
  await worker.stop()
  for (const [jid, text] of [
    [later, 'not yet'],
    [long, 'begun'],
  ]) {
    expect((await t.hq.find(String(jid))).job?.messages).toMatchObject([{ text }])
  }
})

test('the messages of a tracked job are in its event, not in the job', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { track: true, retryIn: 3600 }, async (ctx) => {
    ctx.message('half done')
    throw new Error('no')
  })
  const jid = String(await Job.performAsync())
  await t.work()
  await until(async () => (await t.set('retry')).length === 1)
  const { job, event } = await t.hq.find(jid)
  expect(job?.messages).toEqual([])
  expect(event?.messages.map(({ text }) => text)).toContain('half done')
})
