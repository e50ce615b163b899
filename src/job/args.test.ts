import vm from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkArgs, checkReadable } from './args.ts'
import { parseJson, stringifyJson } from './json.ts'

class User {
  id = 7
}

class Money {
  toJSON() {
    return '7.00'
  }
}

class Secret {
  #hidden = true
  static {
    Object.defineProperty(Secret, 'name', { value: '' })
  }
  get hidden() {
    return this.#hidden
  }
}

interface Refusal extends Error {
  code: string
  details: unknown
}

function thrownBy(check: () => void): Refusal | undefined {
  try {
    check()
  } catch (error) {
    return error as Refusal
  }
  return undefined
}

const refusalOf = (args: unknown[]) => thrownBy(() => checkArgs(args, 'SyncJob')) ?? expect.fail('was not refused')
const unreadable = (value: unknown, place = {}) => thrownBy(() => checkReadable(stringifyJson(value), 'J', place))

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test('accepts JSON values', () => {
  const bare = Object.assign(Object.create(null), { a: [1] })
  const shared = { a: 1 }
  const hidden = Object.defineProperty({ a: 1 }, Symbol('hidden'), { value: 1, enumerable: false })
  const foreign = vm.runInNewContext('({ list: [1, { a: null }] })')
  checkArgs([], 'SyncJob')
  checkArgs(['', 0, -1.5, true, null, 2n ** 70n, [], {}, [[{ 'first name': [null] }]]], 'SyncJob')
  checkArgs([bare, shared, [shared, shared], hidden, foreign, { toJSON: 'just data' }], 'SyncJob')
})

test('accepts any JSON value, and each survives a round trip', () => {
  fc.assert(fc.property(fc.array(fc.jsonValue()), (args) => checkArgs(args, 'SyncJob')))
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true })
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 3 }), (args) => {
      try {
        checkArgs(args, 'SyncJob')
      } catch (error) {
        expect(error).toMatchObject({ code: 'INVALID_ARGS', details: { job: 'SyncJob' } })
        return
      }
      const text = stringifyJson(args)
      expect(stringifyJson(parseJson(text))).toBe(text)
    }),
    { numRuns: 500 },
  )
})

const match = /b/.exec('abc')
test.each<[unknown, string]>([
  [undefined, 'is undefined: pass null or leave it out'],
  [Number.NaN, 'is NaN: pass a finite number or null'],
  [Number.NEGATIVE_INFINITY, 'is -Infinity: pass a finite number or null'],
  [() => 1, 'is a function: pass its result, or a name that the job can look up'],
  [User, 'is a function: pass its result, or a name that the job can look up'],
  [Symbol('s'), 'is a symbol: pass a string'],
  [new Date(), 'is a Date: pass date.toISOString()'],
  [vm.runInNewContext('new Date()'), 'is a Date: pass date.toISOString()'],
  [new Map(), 'is a Map: pass Object.fromEntries(map)'],
  [new Set(), 'is a Set: pass [...set]'],
  [Promise.resolve(), 'is a Promise: await it first'],
  [/a/, 'is a RegExp: pass regexp.source'],
  [new TypeError('no'), 'is an Error: pass error.message'],
  [Buffer.from('a'), "is a Buffer: pass buffer.toString('base64')"],
  [new Uint8Array(1), "is a Uint8Array: pass Buffer.from(bytes).toString('base64')"],
  [new ArrayBuffer(1), "is an ArrayBuffer: pass Buffer.from(bytes).toString('base64')"],
  [new Float64Array(1), 'is a typed array: pass [...numbers]'],
  [Object('boxed'), 'is a boxed primitive: pass value.valueOf()'],
  [Object(1n), 'is a boxed primitive: pass value.valueOf()'],
  [new User(), 'is an instance of User: pass a plain object, e.g. its id'],
  [new WeakMap(), 'is an instance of WeakMap: pass a plain object, e.g. its id'],
  [Object.create(Object.create(null)), 'is an instance of an unnamed class: pass a plain object, e.g. its id'],
  [new Secret(), 'is an instance of an unnamed class: pass a plain object, e.g. its id'],
  [new Money(), 'is an instance of Money: pass value.toJSON()'],
  [{ toJSON: () => 1 }, 'has a toJSON method: pass value.toJSON()'],
  [Object.assign([], { toJSON: () => 1 }), 'has a toJSON method: pass value.toJSON()'],
  [{ [Symbol('s')]: 1 }, 'has the symbol key Symbol(s): use a string key or leave it out'],
  [Object.assign([], { [Symbol('s')]: 1 }), 'has the symbol key Symbol(s): use a string key or leave it out'],
  ['\ud83d', 'has half of a surrogate pair, which is no character: pass its toWellFormed()'],
  ['x\udc0e', 'has half of a surrogate pair, which is no character: pass its toWellFormed()'],
  [match, 'is an array with the extra property "index": pass [...array]'],
  [Object.assign(Array(5000).fill(1), { x: 1 }), 'is an array with the extra property "x": pass [...array]'],
])('refuses %s', (value, says) => {
  const about = { code: 'INVALID_ARGS', status: 400, details: { path: 'args[1]', job: 'SyncJob' } }
  expect(refusalOf([1, value])).toMatchObject({ name: 'HighkiqError', ...about, message: `SyncJob: args[1] ${says}` })
})

test.each<[unknown[], string]>([
  [[0, { when: new Date() }], 'args[1].when is a Date: pass when.toISOString()'],
  [[{ 'first name': new Set() }], 'args[0]["first name"] is a Set: pass [...set]'],
  [
    [{ 'a"b': [[{ ünï$: { 7: undefined } }]] }],
    'args[0]["a\\"b"][0][0].ünï$["7"] is undefined: pass null or leave it out',
  ],
  [[{ ok: [1, { fine: true }], price: Number.NaN }], 'args[0].price is NaN: pass a finite number or null'],
  [[{ ok: [1] }, [{ tags: new Set() }]], 'args[1][0].tags is a Set: pass [...tags]'],
  [[{ match }], 'args[0].match is an array with the extra property "index": pass [...match]'],
  [Object.assign([1], { extra: 1 }), 'args is an array with the extra property "extra": pass [...args]'],
  // biome-ignore lint/suspicious/noSparseArray: that is the point
  [[[1, , 3]], 'args[0][1] is a hole in a sparse array: pass null'],
  [new Array(4_000_000_000), 'args[0] is a hole in a sparse array: pass null'],
])('names the path, case %#', (args, message) => {
  expect(refusalOf(args).message).toBe(`SyncJob: ${message}`)
})

test('names both ends of a cycle', () => {
  const order: Record<string, unknown> = { items: [{}] }
  ;(order.items as Record<string, unknown>[])[0] = { order }
  expect(refusalOf([1, { order }]).message).toBe(
    'SyncJob: args[1].order.items[0].order is args[1].order again, a cycle: pass an id instead',
  )
  const args: unknown[] = []
  args.push(args)
  expect(refusalOf(args).message).toBe('SyncJob: args[0] is args again, a cycle: pass an id instead')
})

test('refuses an integer that would be read as Infinity', () => {
  expect(() => checkArgs([10n ** 1000n - 1n, 1n - 10n ** 1000n], 'SyncJob')).not.toThrow()
  for (const long of [10n ** 1000n, -(10n ** 1000n)]) {
    expect(() => checkArgs([long], 'SyncJob')).toThrow(
      'SyncJob: args[0] has more than 1,000 digits: pass it as a string',
    )
  }
})

test('refuses deep nesting without overflowing the stack', () => {
  checkArgs([nested(98)], 'SyncJob')
  const message =
    'SyncJob: args[1] is nested deeper than the 100 levels that Ruby reads of a whole job (98 inside args): pass flatter data, or an id to load it by'
  for (const levels of [99, 100_000]) {
    expect(refusalOf([1, nested(levels)])).toMatchObject({ message, details: { path: 'args[1]' } })
  }
})

test('names the path at which reading failed', () => {
  const boom = new Error('boom')
  const thrower = {
    get total() {
      throw boom
    },
  }
  expect(refusalOf([{ a: [thrower] }])).toMatchObject({
    code: 'INVALID_ARGS',
    message: "SyncJob: args[0].a[0].total can't be read (boom): pass plain data, without getters",
    details: { path: 'args[0].a[0].total', job: 'SyncJob' },
    cause: boom,
  })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect(refusalOf([0, proxy]).message).toMatch(/^SyncJob: args\[1\] can't be read \(.*revoked.*\): pass plain data/)
  expect(refusalOf([new Date()])).not.toHaveProperty('cause')
})

test('accepts a getter that works', () => {
  const getter = Object.defineProperty({}, 'total', { get: () => 1, enumerable: true })
  checkArgs([getter], 'SyncJob')
})

test.each([
  ['class', { class: '\ud83d' }],
  ['queue', { class: 'J', queue: 'a\udc00b' }],
  ['tags[1]', { tags: ['a', '\ud83d!'] }],
  ['own.deep[0]', { own: { deep: ['\udfff'] } }],
  ['args[0]["\\ud83d"]', { args: [{ '\ud83d': 1 }] }],
])('half of a surrogate pair is refused with its path: %s', (path, payload) => {
  const message = `J: ${path} has half of a surrogate pair, which is no character: pass its toWellFormed()`
  expect(unreadable(payload)).toMatchObject({ code: 'INVALID_ARGS', message, details: { path, job: 'J' } })
})

test('whole surrogate pairs, and texts that look like an escape, are accepted', () => {
  expect(unreadable({ args: ['😀', '\\ud83d', '\\\\ud83d', 'C:\\udon'] })).toBeUndefined()
})

test('100 levels are accepted and 101 are refused, with any values around them', () => {
  expect(unreadable({ args: nested(99) })).toBeUndefined()
  expect(unreadable({ args: nested(100) })).toMatchObject({ details: { path: 'args[0]' } })
  expect(unreadable(nested(98), { name: 'args', around: 2 })).toBeUndefined()
  expect(unreadable(nested(99), { name: 'args', around: 2 })).toMatchObject({ details: { path: 'args[0]' } })
  // This text has many brackets and few levels.
  expect(unreadable({ args: Array.from({ length: 500 }, () => [{ a: '[{' }]) })).toBeUndefined()
})

test('only texts with half a pair or more than 100 levels are refused', () => {
  const wrapped = fc.tuple(fc.nat(102), fc.jsonValue(), fc.string({ unit: 'binary' })).map(([levels, value, text]) => {
    let inner: unknown = [value, text]
    for (let i = 0; i < levels; i++) inner = i % 2 ? [inner] : { a: inner }
    return inner
  })
  const levelsOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0
  const isWell = (value: unknown): boolean => {
    if (typeof value === 'string') return value.isWellFormed()
    if (typeof value !== 'object' || value === null) return true
    return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWell(one))
  }
  fc.assert(
    fc.property(wrapped, (value) => {
      const read = JSON.parse(JSON.stringify(value))
      expect(unreadable(value) === undefined).toBe(isWell(read) && levelsOf(read) <= 100)
    }),
    { numRuns: 40 },
  )
})
