import { expect } from 'vitest'
import { test } from './command.ts'

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('J', async (ctx) => {
  console.error('began')
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  console.error('told', ctx.signal.reason.code)
  throw ctx.signal.reason
})
`

test('a job is cancelled in its queue, and while it runs', { timeout: 60_000 }, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const { jid: waiting } = await folder.json<{ jid: string }>('enqueue', 'J', '--in', '1h')
  expect(await folder.run(['cancel', waiting])).toMatchObject({ code: 0, stdout: 'removed: the job had not started\n' })
  expect(await folder.run(['cancel', waiting])).toMatchObject({
    code: 1,
    stderr: `highkiq: job ${waiting} is neither enqueued nor running: it has ended, or the id is wrong\n`,
  })
  const { jid: running } = await folder.json<{ jid: string }>('enqueue', 'J', '-r', 'jobs.mjs')
  const worker = folder.start(['work', '-r', 'jobs.mjs', '--no-banner'])
  await worker.says(/began/)
  expect(await folder.json('cancel', running, '-q', 'default', '--budget', '5')).toEqual({
    jid: running,
    answer: 'signalled',
  })
  await worker.says(/told JOB_CANCELLED/)
  worker.kill('SIGTERM')
  await worker.ended
  expect(await folder.json('stats')).toMatchObject({ processed: 1, failed: 0, retries: 0 })
})

test('a queue is paused and resumed, and the table of queues shows it', { timeout: 60_000 }, async ({ folder }) => {
  await folder.run(['enqueue', 'J'])
  await folder.run(['enqueue', 'J', '--queue', 'low'])
  expect(await folder.run(['pause', 'low'])).toMatchObject({
    code: 0,
    stdout: 'low is paused; to resume: highkiq resume low\n',
  })
  const { stdout } = await folder.run(['queues'])
  expect(stdout).toMatch(/^low +1 .*paused$/m)
  expect(stdout).not.toMatch(/^default .*paused/m)
  expect(await folder.json('queues')).toMatchObject([
    { name: 'default', paused: false },
    { name: 'low', paused: true },
  ])
  expect(await folder.json('resume', 'low')).toEqual({ queue: 'low', paused: false })
  expect((await folder.run(['queues'])).stdout).not.toContain('paused')
  const { stdout: unknown } = await folder.run(['pause', 'lwo'])
  expect(unknown).toMatch(/^lwo is paused; .*\nno worker serves lwo, and it has no jobs: check its name/)
  expect((await folder.run(['queues'])).stdout).toMatch(/^lwo +0 .*paused$/m)
  // A Ruby program may have made a queue of such a name; none has no name.
  expect(await folder.run(['pause', 'a b'])).toMatchObject({ code: 0 })
  expect(await folder.run(['pause', ''])).toMatchObject({ code: 2, stderr: expect.stringContaining('queue name') })
})
