import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench, until } from '../engine/bench.ts'

/** More jobs than a batch stores in one step. */
const MANY = 10_001

/** A bench on two files that are one store. */
function shards() {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-shards-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return bench({ url: `sqlite:${folder}/a.db sqlite:${folder}/b.db` })
}

test('a unique job in a batch on shards is refused by its name, and nothing of the batch is stored', async () => {
  const t = shards()
  const Plain = t.hq.job('Plain', () => {})
  const Once = t.hq.job('Once', { unique: true }, (_ctx, _n: number) => {})
  for (const n of [1, MANY]) {
    const batch = t.hq.batch({}, async () => {
      await Plain.performBulk(Array.from({ length: n }, () => []))
      await Once.performAsync(1)
    })
    await expect(batch).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining("Once: with shards, a unique job can't be in a batch"),
    })
  }
  const stored = []
  for await (const one of t.hq.batches.list()) stored.push(one)
  expect(stored).toEqual([])
  expect((await t.hq.stats()).enqueued).toBe(0)
  expect(await t.hq.uniqueLocks.of(Once, 1)).toBe(null)
  await t.hq.batch({}, async () => void (await Once.set({ unique: false }).performAsync(1)))
})

test('a cron entry of a unique job on shards is refused at once, wherever its lock is, and the others run', async () => {
  const t = shards()
  const ran: string[] = []
  const Once = t.hq.job('Once', { unique: true }, (_ctx, name: string) => void ran.push(name))
  // The entries and the locks are on both shards.
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const entries = names.map((name) => t.hq.cron(name, '* * * * *', Once, { args: [name] }))
  const free = t.hq.cron('free', '* * * * *', Once.set({ unique: false }), { args: ['free'] })
  await t.work()
  await until(async () => (await free.info()) !== null && t.errors.length >= names.length)
  for (const entry of entries) {
    const message = `cron ${entry.name}: with shards, the job of an entry can't be unique`
    expect(t.errors.some(({ error }) => String(error).includes(message))).toBe(true)
    await expect(entry.runNow()).rejects.toThrow(message)
  }
  await free.runNow()
  await until(() => ran.includes('free'))
  for (const entry of entries) expect(await entry.info()).toBe(null)
  expect(ran).toEqual(['free'])
})
