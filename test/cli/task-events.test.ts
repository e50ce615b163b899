import { BusinessFailure, Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { gate } from '../engine/bench.ts'
import { test } from './command.ts'

test('task events --watch prints each row once, when it ends, until the task ends', { timeout: 180_000 }, async ({
  folder,
  onTestFinished,
}) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  onTestFinished(() => hq.close())
  const gates = new Map([0, 1, 700].map((n) => [n, gate()]))
  const Row = hq.job('Row', { retry: 0 }, async (_ctx, n: number) => {
    await gates.get(n)?.opened
    if (n === 700) throw new BusinessFailure('no price', { code: 'price' })
  })
  const { id } = await hq.tasks.create(
    Row,
    Array.from({ length: 1200 }, (_, n): [number] => [n]),
  )
  const all = folder.start(['task', 'events', id, '--watch'])
  const failed = folder.start(['task', 'events', id, '--watch', '--json', '--code', 'price'])
  const first = folder.start(['task', 'events', id, '--watch', '--limit', '1'])
  const left = folder.start(['task', 'events', id, '--watch', '--status', 'error'])
  const worker = hq.worker({ concurrency: 10 })
  await worker.start()
  onTestFinished(() => worker.stop())

  const rows = () => all.stdout.trimEnd().split('\n')
  const of = (n: number, rest = 'finished') => `${(n + 1).toLocaleString('en').padStart(9)}  ${rest}`
  await expect.poll(() => rows().length).toBe(1197)
  gates.get(1)?.open()
  await expect.poll(() => rows().slice(1197)).toEqual([of(1)])
  gates.get(700)?.open()
  await expect.poll(() => rows().slice(1198)).toEqual([of(700, 'failed     no price [price]')])
  await expect.poll(() => failed.stdout).toMatch(/^\{.*"index":700,.*\}\n$/)
  expect((await first.ended).stdout).toMatch(/^ +[\d,]+ {2}finished\n$/)
  left.kill('SIGINT')
  expect(await left.ended).toMatchObject({ code: 130, stdout: '' })
  gates.get(0)?.open()
  const ended = await all.ended
  expect(ended.code).toBe(3)
  expect(rows().slice(1199)).toEqual([of(0)])
  expect(new Set(rows()).size).toBe(1200)
  expect((await failed.ended).code).toBe(3)

  const later = await folder.run(['task', 'events', id, '--watch', '--status', 'failed'])
  expect(later).toMatchObject({ code: 3, stdout: `${of(700, 'failed     no price [price]')}\n` })
  expect(await folder.run(['task', 'events', id, '--watch', '--other-codes'])).toMatchObject({ code: 2 })
})
