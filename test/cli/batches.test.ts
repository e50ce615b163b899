import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'

test('highkiq batches lists batches, shows one, and cancels its jobs', async ({ folder }) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const Work = hq.job('Work', () => {})
  const first = await hq.batch({ description: 'nightly import' }, () => Work.performBulk([[], []]))
  const second = await hq.batch({}, () => {})
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
  expect(await run('show', first)).toMatch(/state +running\ntotal +2\npending +2, 0 of them retrying\n/)
  expect(await folder.json('batches', 'show', second)).toMatchObject({ bid: second, state: 'succeeded' })
  expect(await run('cancel', first)).toBe('2 jobs are cancelled\n')
  expect(await run('show', '0'.repeat(16))).toMatch(/no batch 0{16}/)
})
