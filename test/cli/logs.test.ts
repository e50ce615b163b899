import { existsSync, readFileSync, renameSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { test } from './command.ts'

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.processTitle(() => 'of the shop')
hq.job('Hello', { tags: ['vip'] }, async (ctx, name) => {
  ctx.log.debug({ name }, 'quiet hello')
  ctx.log.info({ name }, 'hello')
})
`

describe.concurrent('the log of highkiq work', { timeout: 300_000 }, () => {
  test.for<[name: string, args: string[], env: Record<string, string>, start: RegExp, done: RegExp]>([
    [
      'JSON',
      [],
      {},
      /^{"level":30,"time":\d+,"pid":\d+,.*"jid":"\w{24}","class":"Hello","queue":"default","tags":\["vip"\],"msg":"start"}$/m,
      /"elapsed":0\.\d+,"msg":"done"}$/m,
    ],
    [
      'plain',
      ['--log-format', 'plain'],
      {},
      /^INFO {2}\d{4}-\d\d-\d\dT[\d:.]+Z pid=\d+ tid=0 jid=\w{24} class=Hello queue=default .*: start$/m,
      /elapsed=0\.\d+: done$/m,
    ],
    [
      "Sidekiq's JSON",
      [],
      { HIGHKIQ_LOG_FORMAT: 'sidekiq' },
      /^{"ts":"[^"]+","pid":\d+,"tid":"0","lvl":"INFO","msg":"start","ctx":{"jid":"\w{24}","class":"Hello"/m,
      /"msg":"done","ctx":{.*"elapsed":0\.\d+}}$/m,
    ],
    [
      'on Heroku',
      ['--log-format', 'plain'],
      { DYNO: 'worker.1' },
      /^INFO {2}pid=\d+ tid=0 jid=\w{24} .*: start$/m,
      /: done$/m,
    ],
  ])('%s', async ([_, args, env, start, done], { folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Hello', 'bob', '-r', 'jobs.mjs'])
    const worker = folder.start(['work', ...args], env)
    await worker.waitFor(start)
    await worker.waitFor(done)
    worker.kill('SIGTERM')
    expect((await worker.ended).stderr).not.toContain('quiet hello')
  })

  test.for(['pretty', 'plain', 'json', 'sidekiq'])('%s: no integer is rounded', async (format, { folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Hello', '[-9007199254740993, "9007199254740993"]', '-r', 'jobs.mjs'])
    const worker = folder.start(['work'], { HIGHKIQ_LOG_FORMAT: format })
    await worker.waitFor(/[[(]-9007199254740993,"?9007199254740993/)
    worker.kill('SIGTERM')
    await worker.ended
  })

  test('-v logs at debug level; --no-log-jobs logs no start and end of jobs', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Hello', 'bob'])
    const worker = folder.start(['work', '-v', '--no-log-jobs'])
    await worker.waitFor(/"level":20,.*quiet hello/)
    await worker.waitFor(/"level":20,.*"msg":"done"/)
    worker.kill('SIGTERM')
    await worker.ended
    await folder.run(['enqueue', 'Hello', 'ann'])
    const quiet = folder.start(['work', '--no-log-jobs'])
    await quiet.waitFor(/"name":"ann"/)
    quiet.kill('SIGTERM')
    expect((await quiet.ended).stderr).not.toMatch(/"msg":"(start|done)"/)
  })

  test('DEBUG_INVOCATION=1 logs at debug level', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Hello', 'bob'])
    const worker = folder.start(['work'], { DEBUG_INVOCATION: '1' })
    await worker.waitFor(/quiet hello/)
    worker.kill('SIGTERM')
    await worker.ended
  })

  test('SIGUSR2 reopens the log file', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const worker = folder.start(['work', '--log-file', 'log/work.log', '--processes', '2'])
    const log = (name = 'log/work.log') => {
      try {
        return readFileSync(folder.at(name), 'utf8')
      } catch {
        return ''
      }
    }
    const until = async (holds: () => boolean) => {
      while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await until(() => (log().match(/is working/g) ?? []).length === 2)
    renameSync(folder.at('log/work.log'), folder.at('log/old.log'))
    worker.kill('SIGUSR2')
    for (let n = 0; log() === ''; n++) await folder.run(['enqueue', 'Hello', `bob ${n}`])
    await until(() => /"msg":"hello"/.test(log()))
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })
    expect(log('log/old.log')).not.toContain('stopped')
    expect(log().match(/"msg":"stopped"/g)).toHaveLength(2)
  })

  test.runIf(existsSync('/dev/full')).for(['json', 'plain', 'pretty'])(
    'a full disk of the log file fails no job, %s',
    async (format, { folder }) => {
      folder.write({
        'jobs.mjs': `
import { writeFileSync } from 'node:fs'
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Write', { retry: false }, (ctx, text) => {
  ctx.log.info({ text: 'x'.repeat(3_000_000) }, 'long')
  ctx.log.info({ text: 'x'.repeat(3_000_000) }, 'long')
  writeFileSync('ran-' + text, '')
})
`,
      })
      for (const text of ['a', 'b']) await folder.run(['enqueue', 'Write', text])
      const worker = folder.start(['work', '--log-file', '/dev/full', '--log-format', format])
      await worker.waitFor(/highkiq: the log file \/dev\/full can't be written, and lines may be lost: ENOSPC.*\n/)
      while (!existsSync(folder.at('ran-a')) || !existsSync(folder.at('ran-b'))) await sleep(20)
      worker.kill('SIGUSR2')
      worker.kill('SIGTERM')
      const { code, stderr } = await worker.ended
      expect(code).toBe(0)
      expect(stderr.match(/can't be written/g)).toHaveLength(1)
    },
  )

  test('SIGUSR2 without a log file does nothing; the title shows the busy slots and the app’s text', async ({
    folder,
  }) => {
    folder.write({
      'jobs.mjs': JOBS,
      'x.yml': 'concurrency: 3\ncapsules: { mail: { concurrency: 2, queues: [mail] } }',
    })
    const worker = folder.start(['work', '-g', 'shop', '-C', 'x.yml'])
    await worker.waitFor(/is working/)
    worker.kill('SIGUSR2')
    const title = readFileSync(`/proc/${worker.pid}/cmdline`, 'utf8').replaceAll('\0', '').trim()
    expect(title).toMatch(/^highkiq [\d.]+ shop \[0 of 5 busy\] of the shop$/)
    worker.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })
})
