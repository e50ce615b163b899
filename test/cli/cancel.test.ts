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
