import { beforeEach, expect, test } from 'vitest'
import { LoginThrottle } from './throttle.ts'

let now: number
let throttle: LoginThrottle

beforeEach(() => {
  now = 1000
  throttle = new LoginThrottle(() => now)
})

test('the first wrong logins of an address are free, then each doubles the wait, up to 15 minutes', () => {
  const fail = () => throttle.failed({ address: 'a' }) / 1000
  expect([fail(), fail(), fail(), fail(), fail(), fail(), fail()]).toEqual([0, 0, 0, 0, 1, 2, 4])
  expect(throttle.wait({ address: 'a' })).toBe(4000)
  expect(throttle.wait({ address: 'b' })).toBe(0)
  now += 3999
  expect(throttle.wait({ address: 'a' })).toBe(1)
  now += 1
  expect(throttle.wait({ address: 'a' })).toBe(0)
  for (let n = 0; n < 20; n++) fail()
  expect(fail()).toBe(900)
})

test('a name waits at most half a minute, from whatever addresses the wrong logins come', () => {
  let longest = 0
  for (let n = 0; n < 40; n++) longest = throttle.failed({ address: `a${n}`, name: 'ann' })
  expect(longest).toBe(30_000)
  expect(throttle.wait({ address: 'new', name: 'ann' })).toBe(30_000)
  expect(throttle.wait({ address: 'new', name: 'bob' })).toBe(0)
})

test('a right login resets the wait of its name, but not of its address, which many people may share', () => {
  const keys = { address: 'a', name: 'ann' }
  for (let n = 0; n < 21; n++) throttle.failed(keys)
  throttle.succeeded(keys)
  expect(throttle.wait({ name: 'ann' })).toBe(0)
  expect(throttle.wait({ address: 'a' })).toBe(900_000)
})

test('an hour without a wrong login resets the wait; the oldest entries are dropped first', () => {
  for (let n = 0; n < 8; n++) throttle.failed({ address: 'a' })
  now += 3_600_000
  expect(throttle.failed({ address: 'a' })).toBe(0)
  for (let n = 0; n < 8; n++) throttle.failed({ address: 'a' })
  now += 16_000
  for (let n = 0; n < 10_000; n++) throttle.failed({ address: `other ${n}` })
  expect(throttle.failed({ address: 'a' })).toBe(0)
})

test('a flood of other names and addresses ends no wait before its time', () => {
  const fail = (address: string) => {
    for (let n = 0; n < 8; n++) throttle.failed({ address })
  }
  for (const address of ['a', 'b', 'c']) fail(address)
  for (let n = 0; n < 12_000; n++) throttle.failed({ address: `other ${n}`, name: `other ${n}` })
  for (const address of ['a', 'b', 'c']) expect(throttle.wait({ address })).toBe(8000)
})

test('memory is bounded also when every address waits: the oldest is forgotten then', () => {
  for (let n = 0; n < 10_001; n++) for (let i = 0; i < 5; i++) throttle.failed({ address: `a${n}` })
  expect(throttle.wait({ address: 'a0' })).toBe(0)
  expect(throttle.wait({ address: 'a1' })).toBe(1000)
  expect(throttle.wait({ address: 'a10000' })).toBe(1000)
})

test('a proxy has a hundred wrong logins free, waits half a minute at most, and a right login does not clear its count', () => {
  const keys = { proxy: 'p' }
  for (let n = 0; n < 99; n++) expect(throttle.failed(keys)).toBe(0)
  throttle.succeeded(keys)
  expect(throttle.failed(keys)).toBe(1000)
  for (let n = 0; n < 20; n++) throttle.failed(keys)
  expect(throttle.wait(keys)).toBe(30_000)
  expect(throttle.wait({ address: 'p' })).toBe(0)
})
