import { describe, expect } from 'vitest'
import { test } from './command.ts'

const TYPESCRIPT = `
import { Highkiq, type JobContext } from 'highkiq'
import { greeting } from './greeting'

await Promise.resolve()
export const hq = new Highkiq()
export const HardJob = hq.job('HardJob', { queue: 'low' }, async (ctx: JobContext, name: string, count: number) => {
  ctx.log.info({ name, count }, greeting)
})
`

/** Ends when the test puts a file named \`go\` beside it. */
const SLOW = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Slow', async () => {
  console.error('BEGUN')
  while (!existsSync('go')) await sleep(10)
  console.error('ENDED')
})
`

const THREADED = `
import { isMainThread } from 'node:worker_threads'
import { Highkiq, type JobContext } from 'highkiq'
import { answer } from './answer'

export const hq = new Highkiq()
export const Heavy = hq.job('Heavy', { thread: true }, async (ctx: JobContext) => {
  ctx.log.info({ isMainThread, answer }, 'thinking')
  await hq.push({ class: 'Light', args: [] })
})
export const Light = hq.job('Light', (ctx: JobContext) => ctx.log.info({ isMainThread }, 'easy'))
`

describe.concurrent('highkiq work', () => {
  test('a job in a thread loads the -r files, TypeScript too, and pushes to the --url store', async ({ folder }) => {
    folder.write({ 'jobs.ts': THREADED, 'answer.ts': 'export const answer: number = 42' })
    const options = ['-r', 'jobs.ts', '--url', 'sqlite:other.db']
    await folder.run(['enqueue', 'Heavy', ...options])
    const worker = folder.start(['work', ...options])
    await worker.waitFor(/"isMainThread":false,"answer":42.*thinking/)
    await worker.waitFor(/"isMainThread":true.*easy/)
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  test('a job enqueued on the command line runs from a TypeScript file in a folder without package.json', {
    timeout: 300_000,
  }, async ({ folder }) => {
    folder.write({
      'jobs.ts': TYPESCRIPT,
      'greeting.ts': "export const greeting: string = 'working hard'",
    })
    const { stdout, code } = await folder.run(['enqueue', 'HardJob', 'bob', '5'])
    expect(stdout).toMatch(/^[0-9a-f]{24}\n$/)
    expect(code).toBe(0)
    expect(await folder.json('queues')).toMatchObject([{ name: 'low', size: 1 }])
    expect(await folder.run(['enqueue', 'RubyJob'])).toMatchObject({
      code: 0,
      stderr: 'highkiq: jobs.ts does not define RubyJob; the job is pushed with the default options\n',
    })
    expect((await folder.run(['enqueue', 'HadJob'])).stderr).toContain(
      'jobs.ts does not define HadJob (did you mean HardJob?); the job is pushed',
    )

    const worker = folder.start(['work', '-r', 'jobs.ts', '-q', 'low', '-c', '3', '-g', 'shop'])
    await worker.waitFor(/"name":"bob","count":5.*working hard/)
    await worker.waitFor(/no worker serves these queues, which have jobs \(use -q NAME\): default \(2 jobs\)"/)
    expect(await folder.json('processes')).toMatchObject([{ tag: 'shop', queues: ['low'], concurrency: 3 }])
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stdout: '' })
    expect(await folder.json('stats')).toMatchObject({ processed: 1, failed: 0, enqueued: 2, processes: 0 })
  })

  test('logs its version, store, queues and concurrency', async ({ folder }) => {
    folder.write({ 'jobs.mjs': SLOW })
    const env = { HIGHKIQ_QUEUES: 'critical,3 low', HIGHKIQ_CONCURRENCY: '4', HIGHKIQ_URL: 'sqlite:other.db' }
    const worker = folder.start(['work', '-r', 'jobs.mjs'], env)
    await worker.waitFor(/is working/)
    await worker.waitFor(/"store":"sqlite:other.db","queues":\["critical,3","low"\],"concurrency":4/)
    worker.kill('SIGINT')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  test('loads nothing that only other commands need', async ({ folder }) => {
    folder.write({
      'jobs.mjs': SLOW,
      'register.mjs': "import { register } from 'node:module'\nregister('./hooks.mjs', import.meta.url)",
      'hooks.mjs': `export function resolve(name, context, next) {
        process._rawDebug('loads ' + name)
        return next(name, context)
      }`,
    })
    const worker = folder.start(['work', '-r', 'jobs.mjs'], { NODE_OPTIONS: '--import=./register.mjs' })
    await worker.waitFor(/is working/)
    worker.kill('SIGTERM')
    const { stderr } = await worker.ended
    const loaded = [...stderr.matchAll(/^loads (.*)$/gm)].map(([, name = '']) => name)
    expect(loaded).toContain('commander')
    const needless = /valibot|hucre|yauzl|busboy|cli-progress|^yaml$|pretty|\/(http|hono|commands|ioredis)\./
    expect(loaded.filter((name) => needless.test(name))).toEqual([])
  })

  test('SIGTERM lets a running job finish', async ({ folder }) => {
    folder.write({ 'jobs.mjs': SLOW })
    await folder.run(['enqueue', 'Slow'])
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    await worker.waitFor(/BEGUN/)
    worker.kill('SIGTERM')
    await worker.waitFor(/stopping/)
    folder.write({ go: '' })
    const { code, stderr } = await worker.ended
    expect(code).toBe(0)
    expect(stderr).toContain('ENDED')
    expect(await folder.json('stats')).toMatchObject({ processed: 1, enqueued: 0 })
  })

  test('SIGTERM while the files of -r are loaded ends the process with 0', async ({ folder }) => {
    folder.write({
      'jobs.mjs': "console.error('LOADING'); await new Promise((resolve) => setTimeout(resolve, 60_000))",
    })
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    await worker.waitFor(/LOADING/)
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stderr: 'LOADING\n' })
  })

  test('a second SIGTERM stops at once, and the next worker runs the job', async ({ folder }) => {
    folder.write({ 'jobs.mjs': SLOW })
    await folder.run(['enqueue', 'Slow'])
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    await worker.waitFor(/BEGUN/)
    worker.kill('SIGTERM')
    await worker.waitFor(/stopping/)
    const again = setInterval(() => worker.kill('SIGTERM'), 100)
    const { code, stderr } = await worker.ended
    clearInterval(again)
    expect(code).toBe(1)
    expect(stderr).not.toContain('ENDED')

    folder.write({ go: '' })
    const next = folder.start(['work', '-r', 'jobs.mjs'])
    await next.waitFor(/ENDED/)
    next.kill('SIGTERM')
    expect((await next.ended).code).toBe(0)
  })
})
