import { describe, expect } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { test } from './command.ts'

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Plain', (ctx) => ctx.log.info('plain ran'))
hq.job('Mail', { queue: 'mails' }, (ctx) => ctx.log.info('mail ran'))
hq.job('Flaky', { queue: 'flaky', retryQueue: 'later', retryIn: () => 0.05 }, (ctx) => {
  if (ctx.attempt === 1) throw new Error('once more')
  ctx.log.info('flaky ran')
})
`

describe.concurrent('highkiq work without -q', () => {
  test('on SQLite it serves default and every queue that a job names, and prints them', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    for (const name of ['Plain', 'Mail', 'Flaky']) await folder.run(['enqueue', name, '-r', 'jobs.mjs'])
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    await worker.waitFor(/"queues":\["default","mails","flaky","later"\]/)
    for (const name of ['plain', 'mail', 'flaky']) await worker.waitFor(new RegExp(`${name} ran`))
    worker.kill('SIGTERM')
    const { code, stderr } = await worker.ended
    expect(code).toBe(0)
    expect(stderr).not.toMatch('no running process serves')
  })

  test('the start and stats name a queue that -q leaves out', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const worker = folder.start(['work', '-r', 'jobs.mjs', '-q', 'default', '-q', 'flaky', '-q', 'later'])
    await worker.waitFor(
      /no running process serves the queue mails, .* -q default -q flaky -q later -q mails, or with -q '\*'/,
    )
    const { stdout } = await folder.run(['stats'])
    expect(stdout).toMatch(/^no running process serves the queue mails, .* -q mails, or with -q '\*'$/m)
    expect(await folder.json('stats')).toMatchObject({ unservedQueues: ['mails'] })
    const other = folder.start(['work', '-r', 'jobs.mjs', '-q', 'mails'])
    await other.waitFor(/is working/)
    expect(await folder.json('stats')).toMatchObject({ unservedQueues: [] })
  })
})

onRedis('highkiq work without -q on Redis', () => {
  test("it serves default alone, as Sidekiq does, and -q '*' serves every queue that a job names", async ({
    folder,
    onTestFinished,
  }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const server = await startServer({ databases: 1 })
    onTestFinished(() => server.remove())
    const url = ['--url', server.url()]
    const worker = folder.start(['work', '-r', 'jobs.mjs', ...url])
    await worker.waitFor(/"queues":\["default"\]/)
    await worker.waitFor(
      /serves the queues mails, flaky, later, .* -q default -q mails -q flaky -q later, or with -q '\*'/,
    )
    const all = folder.start(['work', '-r', 'jobs.mjs', '-q', '*', ...url])
    await all.waitFor(/"queues":\["default","mails","flaky","later"\]/)
    await folder.run(['enqueue', 'Mail', '-r', 'jobs.mjs', ...url])
    await all.waitFor(/mail ran/)
    expect((await folder.run(['stats', ...url])).stdout).not.toMatch('no running process')
  })
})
