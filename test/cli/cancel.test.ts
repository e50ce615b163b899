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

test('a job is cancelled in its queue, and while it runs', { timeout: 180_000 }, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const { jid: waiting } = await folder.json<{ jid: string }>('enqueue', 'J', '--in', '1h')
  expect(await folder.run(['cancel', waiting])).toMatchObject({ code: 0, stdout: 'removed: the job had not started\n' })
  expect(await folder.run(['cancel', waiting])).toMatchObject({
    code: 1,
    stderr: `highkiq: job ${waiting} is neither enqueued nor running: it has ended, or the id is wrong\n`,
  })
  const { jid: running } = await folder.json<{ jid: string }>('enqueue', 'J', '-r', 'jobs.mjs')
  const worker = folder.start(['work', '-r', 'jobs.mjs', '--no-banner'])
  await worker.waitFor(/began/)
  expect(await folder.json('cancel', running, '-q', 'default', '--budget', '5')).toEqual({
    jid: running,
    answer: 'signalled',
  })
  await worker.waitFor(/told JOB_CANCELLED/)
  worker.kill('SIGTERM')
  await worker.ended
  expect(await folder.json('stats')).toMatchObject({ processed: 1, failed: 0, retries: 0 })
})

test('a job whose worker was killed is dropped at its rescue, and until then shown as that of a dead worker', {
  timeout: 180_000,
}, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const { jid } = await folder.json<{ jid: string }>('enqueue', 'J', '-r', 'jobs.mjs')
  const work = ['work', '-r', 'jobs.mjs', '--no-banner', '--lease-seconds', '1']
  const worker = folder.start(work)
  await worker.waitFor(/began/)
  expect((await folder.run(['processes'])).stdout).not.toMatch(/ dead$/m)
  worker.kill('SIGKILL')
  await worker.ended
  await expect.poll(async () => (await folder.run(['processes'])).stdout, { timeout: 90_000 }).toMatch(/ dead$/m)
  expect(await folder.run(['cancel', jid])).toMatchObject({
    code: 0,
    stdout: 'requested: its worker is dead; the job is dropped when another worker rescues it\n',
  })
  const next = folder.start(work)
  await next.waitFor(new RegExp(`"jid":"${jid}".*dropped a cancelled job of a process that died`))
  next.kill('SIGTERM')
  await next.ended
})
