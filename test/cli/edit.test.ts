import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'

test('a job is edited where it waits, and pushed again as a new one', { timeout: 180_000 }, async ({ folder }) => {
  const { jid } = await folder.json<{ jid: string }>('enqueue', 'J', 'bob', '5', '--in', '1h')
  expect(await folder.run(['edit', jid, 'ann', '{"n": 6}'])).toMatchObject({ code: 0, stdout: 'edited\n' })
  expect(await folder.json('scheduled')).toMatchObject([{ jid, args: ['ann', { n: 6 }] }])
  const copy = await folder.json<{ jid: string }>('duplicate', jid)
  expect(copy.jid).not.toBe(jid)
  const changes = ['--args', '["eve", 7]', '-q', 'low', '--priority', '3', '--tag', 'a', '--tag', 'b', '--in', '2h']
  const { jid: changed } = await folder.json<{ jid: string }>('duplicate', jid, ...changes)
  const { job, at } = await folder.json<{ job: object; at: string }>('job', changed)
  expect(job).toMatchObject({ args: ['eve', 7], queue: 'low', priority: 3, tags: ['a', 'b'] })
  expect(Math.abs(Date.parse(at) - Date.now() - 7_200_000)).toBeLessThan(60_000)
  expect(await folder.run(['cancel', changed])).toMatchObject({ code: 0 })
  for (const wrong of [
    ['--args', '{}'],
    ['--priority', '10'],
    ['--in', 'soon'],
    ['--in', '1h', '--at', '2030-01-01'],
  ]) {
    expect(await folder.run(['duplicate', jid, ...wrong])).toMatchObject({ code: 2 })
  }
  expect(await folder.json('edit', copy.jid, '--args', '[]')).toEqual({ jid: copy.jid })
  expect(await folder.json('job', copy.jid)).toMatchObject({ job: { args: [] } })
  expect(await folder.json('stats')).toMatchObject({ enqueued: 1, scheduled: 1 })
  expect(await folder.run(['edit', 'nothing', '1'])).toMatchObject({
    code: 1,
    stderr: "highkiq: job nothing can't be edited (unknown): only jobs in a queue or a job set can\n",
  })
  expect(await folder.run(['edit', jid, '{"n": '])).toMatchObject({ code: 2 })
})

test('a job is enqueued once by its own id, or by a lock', { timeout: 180_000 }, async ({ folder }) => {
  const push = (...args: string[]) => folder.run(['enqueue', 'Sync', ...args])
  for (let n = 0; n < 2; n++) expect(await push(String(n), '--jid', 'mine')).toMatchObject({ stdout: 'mine\n' })
  const lock = ['--unique', 'pending', '--unique-by', '0.shop']
  const { stdout } = await push('{"shop": 7, "n": 1}', ...lock)
  expect(await push('{"shop": 7, "n": 2}', ...lock)).toMatchObject({
    ...{ code: 0, stdout },
    stderr: `highkiq: not pushed: job ${stdout.trim()} has the lock of this unique job\n`,
  })
  await push('{"shop": 7, "n": 3}', ...lock, '--on-conflict', 'replace')
  await push('{"shop": 8}', '--unique-by', '0.shop', '--unique', '90')
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const jobs = (await hq.queue('default').page()).items.map(({ args }) => args)
  await hq.close()
  expect(jobs.reverse()).toEqual([[0], [{ shop: 7, n: 3 }], [{ shop: 8 }]])
  expect(await push('1', '--unique', 'ever')).toMatchObject({ code: 2 })
  expect(await push('1', '--on-conflict', 'wait')).toMatchObject({ code: 2 })
  expect((await push('1', ...lock)).stderr).toContain('unique.by is "0.shop", and the arguments have no such value')
})

test('the locks of unique jobs are listed and released', { timeout: 180_000 }, async ({ folder }) => {
  expect((await folder.run(['locks', 'list'])).code).not.toBe(2)
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const jid = await hq
    .job('U', () => {})
    .set({ unique: true })
    .performAsync()
  await hq.pushBulk({ class: 'U', args: [[1], [2]], jid: ['one', 'two'] })
  expect(await folder.json('locks', 'list', '--limit', '2')).toHaveLength(2)
  await hq.uniqueLocks.release({ key: 'jid:one', jid: 'one' })
  await hq.uniqueLocks.release({ key: 'jid:two', jid: 'two' })
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
