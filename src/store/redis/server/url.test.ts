import { expect, test } from 'vitest'
import { withoutPassword } from '../../contract/without-password.ts'
import { readRedisUrl } from './url.ts'

const read = (url: string) => readRedisUrl(url).redis

test('a Redis URL has a host, a port and a database', () => {
  expect(read('redis://')).toMatchObject({ host: 'localhost', port: 6379, protocol: 3 })
  expect(read('redis://h:7000/5')).toMatchObject({ host: 'h', port: 7000, db: 5 })
  expect(read('redis://[::1]:7000')).toMatchObject({ host: '::1', port: 7000 })
})

test('a Redis URL has a login, also in the old form with a password only', () => {
  expect(read('redis://ann:p%40ss@h')).toMatchObject({ username: 'ann', password: 'p@ss' })
  expect(read('redis://:secret@h')).toMatchObject({ password: 'secret' })
  expect(read('redis://secret@h')).toMatchObject({ password: 'secret' })
})

test('a Redis URL chooses TLS, RESP2 and a namespace', () => {
  expect(read('rediss://h')).toMatchObject({ tls: {} })
  expect(read('redis://h?protocol=2')).toMatchObject({ protocol: 2 })
  expect(readRedisUrl('redis://h/1?namespace=app').namespace).toBe('app')
  expect(readRedisUrl('redis://h', { namespace: 'mine' }).namespace).toBe('mine')
})

test('a Redis URL names sentinels', () => {
  const options = read('redis+sentinel://:pw@s1,s2:26380/mymaster/2')
  expect(options).toMatchObject({ name: 'mymaster', db: 2, password: 'pw' })
  expect(options.sentinels).toEqual([
    { host: 's1', port: 26379 },
    { host: 's2', port: 26380 },
  ])
})

test('a Redis URL names nodes of a cluster, and all keys get one hash tag', () => {
  const { redis, cluster, namespace } = readRedisUrl('rediss+cluster://ann:pw@n1,n2:7001/0')
  expect(redis).toEqual({ protocol: 3, username: 'ann', password: 'pw', tls: {}, db: 0 })
  const seeds = [
    { host: 'n1', port: 6379 },
    { host: 'n2', port: 7001 },
  ]
  expect(cluster).toEqual({ seeds, known: [] })
  expect(namespace).toBe('{highkiq}')
  expect(readRedisUrl('redis+cluster://n1?namespace=app').namespace).toBe('{app}')
  expect(readRedisUrl('redis+cluster://n1', { namespace: 'mine' }).namespace).toBe('{mine}')
})

test('the waitForReplicas of the app overrides that of the URL', () => {
  expect(readRedisUrl('redis://h').waitForReplicas).toBe(0)
  expect(readRedisUrl('redis://h?waitForReplicas=2').waitForReplicas).toBe(2)
  expect(readRedisUrl('redis://h?waitForReplicas=2', { waitForReplicas: 1 }).waitForReplicas).toBe(1)
})

test('the password is never shown', () => {
  expect(readRedisUrl('redis://ann:secret@h:1/2').url).toBe('redis://ann:***@h:1/2')
  expect(readRedisUrl('redis://secret@h').url).not.toContain('secret')
  const malformed = [
    'redis:/ann:secret@h',
    'redis:ann:secret@h',
    'redis:///ann:secret@h',
    'redis://ann:%secret@h',
    'redis://ann:12/secret@h',
    'redis://ann:12@secret@h',
    'redis://ann:12/3?secret@h',
  ]
  for (const url of malformed) expect(() => readRedisUrl(url)).toThrow(/^(?!.*secret)/s)
  expect(withoutPassword('sqlite:a@b.db')).toBe('sqlite:a@b.db')
  expect(withoutPassword('secret@h:6379')).toBe('***@h:6379')
  expect(withoutPassword('sqlite:a.db redsi://ann:secret@h')).not.toContain('secret')
})

test.each([
  ['redis://h/x', /the database must be a number, 0 or more \(got "x"\)/],
  ['redis://a,b', /several hosts must begin with redis\+sentinel:\/\/ or redis\+cluster:/],
  ['redis+cluster://a/1', /a Redis Cluster has no database other than 0/],
  ['redis+cluster://a?namespace={b}', /namespace must be a string without spaces and braces/],
  ['redis+cluster://a/name', /the database must be a number, 0 or more \(got "name"\)/],
  ['redis+sentinel://a,b', /a Sentinel URL must name the master/],
  ['redis://h?protocol=4', /protocol must be 2 or 3 \(got "4"\)/],
  ['redis://h?dbb=4', /unknown option "dbb"/],
  ['redis://h?waitForReplicas=', /waitForReplicas must be a number of replicas/],
  ['redis://h?waitForReplicas=1.5', /waitForReplicas must be .* \(got "1.5"\)/],
  ['redis:h', /must look like redis:\/\/user:password@host:6379\/0, .* \(got redis:h\)/],
  ['redis://h?namespace=a{b', /namespace must be .* \(got "a\{b"\)/],
])('%s is refused in words', (url, words) => {
  expect(() => readRedisUrl(url)).toThrow(words)
})

test('redisTimeout is in seconds', () => {
  expect(readRedisUrl('redis://h').commandTimeout).toBe(5000)
  expect(readRedisUrl('redis://h', { redisTimeout: 0.25 }).commandTimeout).toBe(250)
})

test('redisTimeout refuses milliseconds, and the option of ioredis', () => {
  for (const redisTimeout of [0, -1, 5000, Number.NaN, '5' as never]) {
    expect(() => readRedisUrl('redis://h', { redisTimeout })).toThrow(
      /^redisTimeout must be a number of seconds above 0, at most 600 \(got /,
    )
  }
  const redis = { commandTimeout: 100 }
  expect(() => readRedisUrl('redis://h', { redis })).toThrow(
    'redis.commandTimeout must not be set: use redisTimeout, in seconds',
  )
})
