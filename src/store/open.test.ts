import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Highkiq } from '../index.ts'
import { openStore, registerStore, type StoreSettings } from './open.ts'

test('an app uses a store of a registered scheme, with its settings', async () => {
  const opened: [url: string, settings: StoreSettings][] = []
  registerStore('third-party', (url, settings) => {
    opened.push([url, settings])
    return openStore('sqlite::memory:')
  })
  const hq = new Highkiq({ url: 'third-party://host/jobs', namespace: 'shop' })
  const HardJob = hq.job('HardJob', { keepResult: 60 }, async (_ctx, name: string) => name.length)
  await hq.worker().start()
  expect(await hq.result(await HardJob.performAsync('bob'))).toBe(3)
  await hq.close()
  expect(opened).toEqual([['third-party://host/jobs', { namespace: 'shop', warn: expect.any(Function) }]])
})

test('the option shards names the stores in their order, also files with spaces in their names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq open '))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const shards = [`sqlite:${folder}/a.db`, `sqlite:${folder}/b.db`]
  const hq = new Highkiq({ shards })
  onTestFinished(() => hq.close())
  expect(hq.store.url).toBe(shards.join(' '))
  expect(hq.store.kind).toBe('sqlite')
  await hq.job('HardJob', async () => {}).performBulk(Array.from({ length: 50 }, () => []))
  for (const [n, url] of shards.entries()) {
    const one = new Highkiq({ url })
    onTestFinished(() => one.close())
    expect((await one.stats()).enqueued).toBeGreaterThan(0)
    expect(await one.store.results.secret('shard', 'none')).toBe(`${n + 1} of 2`)
  }
})

test('shards that are the same store, or no store, are refused', () => {
  expect(() => new Highkiq({ url: 'redis://localhost redis://localhost' }).store).toThrow(
    'each shard must be another store, and redis://localhost is named twice: remove one of them',
  )
  expect(() => new Highkiq({ shards: ['redis://a', 'mysql://me:secret@b'] }).store).toThrow(
    '"mysql://me:***@b" is not a store URL',
  )
})

test('an unknown scheme is refused with the known ones', () => {
  registerStore('fourth', () => openStore('sqlite::memory:'))
  expect(() => openStore('mysql://me:secret@db/jobs')).toThrow(
    /^"mysql:\/\/me:\*\*\*@db\/jobs" is not a store URL: .*\(known schemes: postgres, .*redis, .*sqlite, .*fourth\)$/,
  )
})

test.each([
  [
    'sqlite',
    'scheme must not be one of postgres, postgresql, redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster, sqlite (got "sqlite")',
  ],
  ['MySQL:', 'scheme must be a URL scheme in small letters (got "MySQL:")'],
])('registerStore refuses the scheme %s', (scheme, message) => {
  expect(() => registerStore(scheme, () => openStore('sqlite::memory:'))).toThrow(message)
})
