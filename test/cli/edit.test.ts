import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'

test('a job is edited where it waits, and pushed again as a new one', { timeout: 60_000 }, async ({ folder }) => {
  const { jid } = await folder.json<{ jid: string }>('enqueue', 'J', 'bob', '5', '--in', '1h')
  expect(await folder.run(['edit', jid, 'ann', '{"n": 6}'])).toMatchObject({ code: 0, stdout: 'edited\n' })
  expect(await folder.json('scheduled')).toMatchObject([{ jid, args: ['ann', { n: 6 }] }])
  const copy = await folder.json<{ jid: string }>('duplicate', jid)
  expect(copy.jid).not.toBe(jid)
  expect(await folder.json('edit', copy.jid)).toEqual({ jid: copy.jid })
  expect(await folder.json('stats')).toMatchObject({ enqueued: 1, scheduled: 1 })
  expect(await folder.run(['edit', 'nothing', '1'])).toMatchObject({
    code: 1,
    stderr: "highkiq: job nothing can't be edited (unknown): only jobs in a queue or a job set can\n",
  })
  expect(await folder.run(['edit', jid, '{"n": '])).toMatchObject({ code: 2 })
})

test('the locks of unique jobs are listed and released', { timeout: 60_000 }, async ({ folder }) => {
  expect((await folder.run(['locks', 'list'])).code).not.toBe(2)
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const jid = await hq
    .job('U', () => {})
    .set({ unique: true })
    .performAsync()
  await hq.close()
  const [lock, ...others] = await folder.json<{ key: string; jid: string }[]>('locks', 'list')
  expect([lock, others]).toMatchObject([{ jid, endsAt: null }, []])
  expect((await folder.run(['locks', 'list'])).stdout).toMatch(/^KEY +JID +ENDS\n.*with its job\n/)
  const release = (holder: string | null) => folder.run(['locks', 'release', lock?.key ?? '', holder ?? ''])
  expect(await release('another')).toMatchObject({ code: 1 })
  const released = { code: 0, stdout: `released: job ${jid} has it no longer\n` }
  expect(await release(jid)).toMatchObject(released)
  expect(await release(jid)).toMatchObject({
    code: 1,
    stderr: `highkiq: job ${jid} has no lock ${lock?.key}: highkiq locks list shows the locks that are held\n`,
  })
})
