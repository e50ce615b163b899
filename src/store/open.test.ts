import { expect, test } from 'vitest'
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
