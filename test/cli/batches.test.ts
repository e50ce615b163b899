import { execFileSync } from 'node:child_process'
import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { MAIN, test } from './command.ts'
import { runHere } from './in-process.ts'

test('highkiq batches lists batches, shows one, and cancels its jobs', async ({ folder }) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const Work = hq.job('Work', () => {})
  const first = await hq.batch({ description: 'nightly import' }, () => Work.performBulk([[], []]))
  const second = await hq.batch({}, () => {})
  const flow = await hq.flow({ job: Work, children: [{ job: Work }] })
  await hq.close()
  const run = async (...args: string[]) => {
    const { stdout, stderr } = await folder.run(['batches', ...args])
    return stdout + stderr
  }
  expect(await run('list')).toMatch(
    new RegExp(`^BID .*DESCRIPTION\\n[^]*${first} +running +2 +2 +0 +0 .* nightly import\\n`),
  )
  expect(await run('list')).toContain(second)
  expect(await folder.json('batches', 'list', '--limit', '1')).toHaveLength(1)
  expect(await folder.json('batches', 'list', '--state', 'succeeded')).toMatchObject([{ bid: second }])
  expect(await folder.json('batches', 'list', '--search', 'IMPORT')).toMatchObject([{ bid: first }])
  const parent = flow?.jid as string
  expect((await folder.run(['job', parent])).stdout).toMatch(/^state +waits for its children$/m)
  expect((await folder.run(['cancel', parent])).stdout).toBe('removed: the job had not started\n')
  expect(await run('show', first)).toMatch(/state +running\ntotal +2\npending +2, 0 of them retrying\n/)
  expect(await folder.json('batches', 'show', second)).toMatchObject({ bid: second, state: 'succeeded' })
  expect(await run('cancel', first)).toBe('2 jobs are cancelled\n')
  expect(await run('show', '0'.repeat(16))).toMatch(/no batch 0{16}/)
})

test('highkiq batches show names the dead jobs of a batch, with their errors', async ({ folder }) => {
  const hq = new Highkiq({
    url: `sqlite:${folder.at('highkiq.db')}`,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const Fails = hq.job('Fails', { retry: 0 }, (_ctx, n: number) => {
    throw new TypeError(`number ${n} is wrong`)
  })
  const bid = await hq.batch({}, () => Fails.performBulk(Array.from({ length: 12 }, (_, n): [number] => [n])))
  await Fails.performAsync(99)
  const worker = hq.worker({ queues: ['default'] })
  await worker.start()
  while ((await hq.stats()).dead < 13) await new Promise((resolve) => setTimeout(resolve, 5))
  await hq.close()
  const { deadJobs } = await folder.json<{ deadJobs: { jid: string }[] }>('batches', 'show', bid)
  expect(deadJobs).toHaveLength(10)
  expect(deadJobs[0]).toEqual({
    jid: expect.any(String),
    class: 'Fails',
    error: expect.stringMatching(/^TypeError: number \d+ is wrong$/),
  })
  const { stdout } = await folder.run(['batches', 'show', bid])
  expect(stdout).toMatch(
    /dead +12\n[\s\S]*\n\nDEAD JOB +CLASS +ERROR\n[0-9a-f]{24} +Fails +TypeError: number \d+ is wrong\n/,
  )
  expect(stdout).not.toContain('number 99')
})

test('on a terminal highkiq batches show cuts the errors of dead jobs to its width, and with --wide not at all', async ({
  folder,
}) => {
  const url = `sqlite:${folder.at('highkiq.db')}`
  const hq = new Highkiq({ url, logger: { debug() {}, info() {}, warn() {}, error() {} } })
  const message = 'x'.repeat(300)
  const Fails = hq.job('Fails', { retry: 0 }, () => {
    throw new TypeError(message)
  })
  const bid = await hq.batch({}, () => Fails.performAsync())
  const worker = hq.worker({ queues: ['default'] })
  await worker.start()
  while ((await hq.stats()).dead < 1) await new Promise((resolve) => setTimeout(resolve, 5))
  await hq.close()
  const show = (...more: string[]) => runHere(['batches', 'show', bid, '--url', url, ...more], {}, { columns: 150 })
  const { stdout } = await show()
  expect(stdout).toMatch(/\n[0-9a-f]{24} +Fails +TypeError: x+…\n$/)
  expect(stdout.trimEnd().split('\n').at(-1)).toHaveLength(150)
  expect((await show('--wide')).stdout).toContain(message)
})

test('highkiq batches push creates a batch from a file or standard input, and refuses a wrong one', async ({
  folder,
}) => {
  folder.write({
    'batch.json': '{"jobs": [{"class": "Work", "args": [1]}, {"class": "Work", "args": [1]}], "description": "two"}',
  })
  const bid = (await folder.run(['batches', 'push', 'batch.json'])).stdout.trim()
  expect(await folder.json('batches', 'show', bid)).toMatchObject({ total: 2, description: 'two' })
  const input = { cwd: folder.path, input: '{"jobs": []}' }
  const empty = execFileSync(process.execPath, [MAIN, 'batches', 'push', '-', '--json'], input)
  expect(JSON.parse(String(empty))).toEqual({ bid: expect.any(String), jids: [] })
  const wrong = await folder.run(['batches', 'push', 'none.json'])
  expect(wrong.stderr).toMatch(/can't read none\.json/)
  folder.write({ 'wrong.json': '{"jobs": [{"class": "Work"}]}' })
  expect((await folder.run(['batches', 'push', 'wrong.json'])).stderr).toMatch(/`jobs` must be/)
  folder.write({ 'text.json': '{"jobs"' })
  expect((await folder.run(['batches', 'push', 'text.json'])).stderr).toMatch(/text\.json is not valid JSON/)
})
