import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../store/open.ts'
import { LeaderLock } from './background-service.ts'

test('a lock that services share is released when the last of them has ended', async () => {
  const store = openStore('sqlite::memory:')
  await store.open()
  onTestFinished(() => store.close())
  const shared = new LeaderLock(() => store, 'maintenance', { seconds: 60 })
  const other = new LeaderLock(() => store, 'maintenance', { seconds: 60 })
  shared.join()
  shared.join()
  expect(await shared.acquire()).toBe(true)
  await shared.leave()
  expect(await other.acquire()).toBe(false)
  await shared.leave()
  expect(await other.acquire()).toBe(true)
})
