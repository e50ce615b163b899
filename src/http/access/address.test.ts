import { expect, test } from 'vitest'
import { networkOf, TrustedProxies } from './address.ts'

const PROXIES = ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32']

function sourceOf(proxies: string[], remote: string | undefined, forwarded?: string) {
  const headers = new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
  return new TrustedProxies(proxies).sourceOf({ headers }, { remote })
}

const client = (address: string) => ({ address, isProxy: false })
const proxy = (address: string) => ({ address, isProxy: true })

test.each<[remote: string, forwarded: string | undefined, address: string]>([
  ['192.0.2.7', undefined, '192.0.2.7'],
  ['::ffff:192.0.2.7', undefined, '192.0.2.7'],
  ['fe80::1%eth0', undefined, 'fe80::1'],
  ['127.0.0.1', '192.0.2.7', '192.0.2.7'],
  ['::ffff:127.0.0.1', '192.0.2.7', '192.0.2.7'],
  ['127.0.0.1', '192.0.2.7:5123', '192.0.2.7'],
  ['127.0.0.1', '[2001:db9::1]:443', '2001:db9::1'],
  ['127.0.0.1', 'fe80::1%eth0', 'fe80::1'],
  // The client can invent everything before the address that the proxy added.
  ['127.0.0.1', '8.8.8.8, 192.0.2.7', '192.0.2.7'],
  ['127.0.0.1', '8.8.8.8, 192.0.2.7, 10.1.2.3', '192.0.2.7'],
  ['127.0.0.1', '192.0.2.7, 2001:db8::5', '192.0.2.7'],
  ['127.0.0.1', '10.1.2.3', '127.0.0.1'],
])('from %s, forwarded for %s: %s', (remote, forwarded, address) => {
  expect(sourceOf(PROXIES, remote, forwarded)).toEqual(client(address))
})

test('an untrusted sender of X-Forwarded-For, or one that names no client, counts as a proxy at its own address', () => {
  expect(sourceOf(PROXIES, '127.0.0.1', 'unknown')).toEqual(proxy('127.0.0.1'))
  expect(sourceOf(PROXIES, '127.0.0.1', '')).toEqual(proxy('127.0.0.1'))
  expect(sourceOf(PROXIES, '::ffff:192.0.2.7', '10.0.0.1')).toEqual(proxy('192.0.2.7'))
  expect(sourceOf([], '127.0.0.1', '192.0.2.7')).toEqual(proxy('127.0.0.1'))
  expect(sourceOf([], '127.0.0.1')).toEqual(client('127.0.0.1'))
  expect(sourceOf([], undefined)).toBeUndefined()
  expect(sourceOf([], 'no address', '192.0.2.7')).toBeUndefined()
})

test('a link-local address with a zone can be that of a trusted proxy, and is counted by its network', () => {
  expect(sourceOf(['fe80::/10'], 'fe80::1%eth0', '192.0.2.7')).toEqual(client('192.0.2.7'))
  expect(networkOf(sourceOf([], 'fe80::1%eth0')?.address ?? '')).toBe('fe80:0:0:0::/64')
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
])('%s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

const NO_RANGES = ['all', '10.0.0.0/33', '10.0.0.0/8/8', '::1/129', '10.0.0.0/', 'localhost', '', 5, null]

test.each(NO_RANGES)('trustProxy refuses %o', (range) => {
  expect(() => new TrustedProxies([range])).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('trustProxy must be a list') }),
  )
})
