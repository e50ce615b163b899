import { expect, onTestFinished, test } from 'vitest'
import { HighkiqError, PushError } from '../../job/errors.ts'
import { Reachability } from './reachability.ts'

const gone = () => new HighkiqError('STORE_UNREACHABLE', 'redis://b: the connection was lost', { sent: true })
const timeout = () => new HighkiqError('STORE_TIMEOUT', 'redis://b: no answer within 5 s', { sent: true })

/** Returns the reachability of a shard whose checks call `check`. */
function begin(check: () => Promise<void> = async () => {}) {
  const shard = { check, checks: 0 }
  let reached = () => {}
  const reachedAgain = new Promise<void>((resolve) => {
    reached = resolve
  })
  const reachability = new Reachability({
    name: 'shard 2 of 2',
    url: 'redis://b',
    check: () => {
      shard.checks++
      return shard.check()
    },
    onReached: () => reached(),
  })
  onTestFinished(() => reachability.close())
  return { shard, reachability, reachedAgain }
}

const reject = (error: Error) => () => Promise.reject(error)

test('after a lost connection calls fail at once with the name of the shard, until it answers a check', async () => {
  const { shard, reachability, reachedAgain } = begin()
  expect(await reachability.call(async () => 1)).toBe(1)
  shard.check = reject(gone())
  await expect(reachability.call(reject(gone()))).rejects.toThrow('redis://b: the connection was lost')
  const call = async () => {
    throw new Error('the shard was called')
  }
  await expect(reachability.call(call)).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: "shard 2 of 2 can't be reached: redis://b: the connection was lost",
    details: { sent: false },
  })
  await expect(reachability.call(call, 'push')).rejects.toMatchObject({ maybePushed: false })
  await expect(reachability.call(call, 'push')).rejects.toThrow(PushError)
  shard.check = async () => {}
  await reachedAgain
  expect(await reachability.call(async () => 2)).toBe(2)
})

test('after a timeout the check decides whether the shard can be reached', async () => {
  const { shard, reachability } = begin()
  await reachability.verified()
  await expect(reachability.call(reject(timeout()))).rejects.toThrow()
  await Promise.resolve()
  expect([reachability.isReachable, shard.checks]).toEqual([true, 2])
  shard.check = reject(timeout())
  await expect(reachability.call(reject(gone()), 'wait')).rejects.toThrow()
  await new Promise((resolve) => setImmediate(resolve))
  expect(reachability.isReachable).toBe(false)
})

test('a shard that does not answer a check for a second counts as unreachable', async () => {
  const { shard, reachability } = begin()
  await reachability.verified()
  let answer = () => {}
  shard.check = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  reachability.checkLate()
  const late = new AbortController()
  while (reachability.isReachable) await new Promise((resolve) => setTimeout(resolve, 50))
  expect(reachability.failure?.message).toBe("shard 2 of 2 can't be reached: redis://b: no answer within 1 s")
  answer()
  expect(await reachability.reachedWithin(10_000, late.signal)).toBe(true)
})

test('a wrong shard is refused, also when it could not be reached first', async () => {
  const { shard, reachability } = begin(reject(gone()))
  await expect(reachability.call(async () => 1)).rejects.toThrow("shard 2 of 2 can't be reached")
  const wrong = new HighkiqError('STORE_UNUSABLE', 'redis://b is shard 1 of 2, not 2 of 2')
  shard.check = reject(wrong)
  while (reachability.failure !== wrong) await new Promise((resolve) => setTimeout(resolve, 5))
  await expect(reachability.call(async () => 1)).rejects.toBe(wrong)
})

test('a shard that was reached before and refuses its check counts as reachable', async () => {
  const { shard, reachability, reachedAgain } = begin()
  await reachability.verified()
  shard.check = reject(new HighkiqError('STORE_FULL', 'redis://b: its memory is used up'))
  await expect(reachability.call(reject(gone()))).rejects.toThrow()
  await reachedAgain
  expect(await reachability.call(async () => 1)).toBe(1)
})

test('a closed shard is checked no more', async () => {
  const { shard, reachability } = begin()
  await reachability.verified()
  shard.check = reject(gone())
  await expect(reachability.call(reject(gone()))).rejects.toThrow()
  const waiting = reachability.reachedWithin(10_000, new AbortController().signal)
  reachability.close()
  expect(await waiting).toBe(false)
  expect(shard.checks).toBe(1)
  // The store itself refuses the call.
  await expect(reachability.call(reject(new HighkiqError('STORE_CLOSED', 'closed')))).rejects.toThrow('closed')
})
