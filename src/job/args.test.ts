import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkArgs } from './args.ts'
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

function refusalOf(args: unknown[]): { message: string; code: string; details: unknown; cause?: unknown } {
  try {
    checkArgs(args, 'SyncJob')
  } catch (error) {
    return error as ReturnType<typeof refusalOf>
  }
  throw new Error('was not refused')
}

function nested(levels: number): unknown[] {
  let value: unknown[] = []
  for (let i = 1; i < levels; i++) value = [value]
  return value
}

describe('checkArgs', () => {
  it('accepts JSON values', () => {
    const bare = Object.assign(Object.create(null), { a: [1] })
    const shared = { a: 1 }
    const hidden = Object.defineProperty({ a: 1 }, Symbol('hidden'), { value: 1, enumerable: false })
    const foreign = vm.runInNewContext('({ list: [1, { a: null }] })')
    checkArgs([], 'SyncJob')
    checkArgs(['', 0, -1.5, true, null, 2n ** 70n, [], {}, [[{ 'first name': [null] }]]], 'SyncJob')
    checkArgs([bare, shared, [shared, shared], hidden, foreign, { toJSON: 'just data' }], 'SyncJob')
  })

  it('accepts any JSON value, and each survives a round trip', () => {
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
  it.each<[unknown, string]>([
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
  ])('refuses %s', (value, says) => {
    expect(refusalOf([1, value])).toMatchObject({
      name: 'HighkiqError',
      code: 'INVALID_ARGS',
      status: 400,
      message: `SyncJob: args[1] ${says}`,
      details: { path: 'args[1]', job: 'SyncJob' },
    })
  })

  it.each<[unknown[], string]>([
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

  it('names both ends of a cycle', () => {
    const order: Record<string, unknown> = { items: [{}] }
    ;(order.items as Record<string, unknown>[])[0] = { order }
    expect(refusalOf([1, { order }]).message).toBe(
      'SyncJob: args[1].order.items[0].order is args[1].order again, a cycle: pass an id instead',
    )
    const args: unknown[] = []
    args.push(args)
    expect(refusalOf(args).message).toBe('SyncJob: args[0] is args again, a cycle: pass an id instead')
  })

  it('refuses deep nesting without overflowing the stack', () => {
    checkArgs([nested(98)], 'SyncJob')
    for (const levels of [99, 100_000]) {
      expect(refusalOf([1, nested(levels)])).toMatchObject({
        message:
          'SyncJob: args[1] is nested deeper than the 100 levels that Ruby reads of a whole job (98 inside args): pass flatter data, or an id to load it by',
        details: { path: 'args[1]' },
      })
    }
  })

  it('names the path at which reading failed', () => {
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

  it('accepts a getter that works', () => {
    const getter = Object.defineProperty({}, 'total', { get: () => 1, enumerable: true })
    checkArgs([getter], 'SyncJob')
  })
})
