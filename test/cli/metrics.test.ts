import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { type Folder, test } from './command.ts'

/** As a worker would have told it a moment ago. */
async function ended(folder: Folder): Promise<void> {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const histogram = Array.from({ length: 26 }, (_, bucket) => (bucket === 5 ? 30 : bucket === 6 ? 10 : 0))
  const jobs = [
    { name: 'Quick', processed: 1500, failed: 0, ms: 1000, histogram: [1500] },
    { name: 'Shop::Slow', processed: 41, failed: 1, ms: 5200, histogram },
    { name: 'Bad', processed: 1, failed: 1, ms: 0, histogram: [] },
  ]
  await hq.store.metrics.record({ source: 'test', number: 1, at: Date.now(), jobs })
  await hq.deploy('v1.2')
  await hq.close()
}

test('highkiq metrics lists classes by run time, and shows the run times of one class', async ({ folder }) => {
  await ended(folder)
  const [top, filtered, slow, nobody] = await Promise.all(
    [
      ['--hours', '2'],
      ['--filter', 'SLOW'],
      ['Shop::Slow', '--hours', '1'],
      ['Nobody', '--minutes', '5'],
    ].map(async (args) => {
      const { stdout, stderr } = await folder.run(['metrics', ...args])
      return stdout + stderr
    }),
  )
  expect(top).toMatch(
    /CLASS +SUCCESS +FAILURE +TIME +AVERAGE\nShop::Slow +40 +1 +5\.2 s +130 ms\nQuick +1,500 +0 +1 s +0\.667 ms\nBad +0 +1 +0 s\n$/,
  )
  expect(filtered).toMatch(/Shop::Slow/)
  expect(filtered).not.toMatch(/Quick/)
  expect(slow).toMatch(
    /success +40\nfailure +1\ntime +5\.2 s\naverage +130 ms\np50 +133 ms\np95 +210 ms\np99 +222 ms\n\nbelow 150ms +█{40} 30\nbelow 225ms +█{14} 10\n\n.* deployed v1\.2\n$/,
  )
  expect(nobody).toMatch(/^Nobody, from .* to .*: no jobs ended\n$/)
  expect((await folder.run(['deploy', 'v1.2'])).stdout).toMatch(/^already recorded/)
  expect(await folder.json('metrics', 'Bad')).toMatchObject({ name: 'Bad', failed: 1, p50: null })
})

test('highkiq metrics exits with 2 for options that do not combine', async ({ folder }) => {
  await ended(folder)
  const wrong: [args: string[], says: string][] = [
    [['--minutes', '1', '--hours', '1'], 'not both'],
    [['--minutes', '500'], '480'],
    [['Quick', '--filter', 'x'], '--filter'],
  ]
  await Promise.all(
    wrong.map(async ([args, says]) => {
      const { code, stderr } = await folder.run(['metrics', ...args])
      expect([code, stderr]).toEqual([2, expect.stringContaining(says)])
    }),
  )
})
