import { expect, test } from 'vitest'
import { expect as own } from './expect.ts'

type Assertion = (check: typeof expect) => unknown

/** Each must have the same outcome with both. */
const assertions: Record<string, Assertion> = {
  'the same value': (check) => check(1).toBe(1),
  'another object': (check) => check({}).toBe({}),
  'not the same value': (check) => check(1).not.toBe(2),
  'not, of the same value': (check) => check(1).not.toBe(1),
  'an equal object': (check) => check({ a: [1, { b: null }] }).toEqual({ a: [1, { b: null }] }),
  'a member that is undefined': (check) => check({ a: 1, b: undefined }).toEqual({ a: 1 }),
  'an expected member that is undefined': (check) => check({ a: 1 }).toEqual({ a: 1, b: undefined }),
  'a member too many': (check) => check({ a: 1, b: 2 }).toEqual({ a: 1 }),
  'a member too few': (check) => check({ a: 1 }).toEqual({ a: 1, b: 2 }),
  'null and undefined': (check) => check({ a: null }).toEqual({ a: undefined }),
  'an item too many': (check) => check([1, 2]).toEqual([1]),
  'another order': (check) => check([1, 2]).toEqual([2, 1]),
  'an array and an object': (check) => check([]).toEqual({}),
  'equal sets': (check) => check(new Set([1, 2])).toEqual(new Set([2, 1])),
  'other sets': (check) => check(new Set([1, 2])).toEqual(new Set([1])),
  'equal maps': (check) => check(new Map([[1, { a: 1 }]])).toEqual(new Map([[1, { a: 1 }]])),
  'equal bytes': (check) => check(Buffer.from('ab')).toEqual(Buffer.from('ab')),
  'other bytes': (check) => check(Buffer.from('ab')).toEqual(Buffer.from('ac')),
  'equal dates': (check) => check(new Date(5)).toEqual(new Date(5)),
  NaN: (check) => check({ n: Number.NaN }).toEqual({ n: Number.NaN }),
  'any number': (check) => check({ n: 5 }).toEqual({ n: check.any(Number) }),
  'no number': (check) => check({ n: '5' }).toEqual({ n: check.any(Number) }),
  'an array that contains': (check) => check([3, { a: 1 }, 2]).toEqual(check.arrayContaining([{ a: 1 }, 2])),
  'an array that lacks': (check) => check([3, 2]).toEqual(check.arrayContaining([1])),
  'a part of an object': (check) => check({ a: 1, b: { c: 2, d: 3 } }).toMatchObject({ b: { c: 2 } }),
  'a part with another value': (check) => check({ a: 1, b: { c: 2 } }).toMatchObject({ b: { c: 3 } }),
  'a part that is missing': (check) => check({ a: 1 }).toMatchObject({ b: 1 }),
  'parts of items': (check) => check([{ a: 1, b: 2 }]).toMatchObject([{ a: 1 }]),
  'parts of too few items': (check) => check([{ a: 1 }, { a: 2 }]).toMatchObject([{ a: 1 }]),
  'null and a part': (check) => check({ a: null }).toMatchObject({ a: { b: 1 } }),
  'a part of an error': (check) => check(Object.assign(new Error('x'), { code: 'A' })).toMatchObject({ code: 'A' }),
  'a contained item': (check) => check([1, 2]).toContain(2),
  'an item that is only equal': (check) => check([{}]).toContain({}),
  'a contained text': (check) => check('abc').toContain('bc'),
  'an item of a set': (check) => check(new Set([1, 2])).toContain(2),
  'not a contained item': (check) => check([1]).not.toContain(1),
  'an equal item': (check) => check([{ a: 1 }]).toContainEqual({ a: 1 }),
  'the length': (check) => check([1, 2]).toHaveLength(2),
  'another length': (check) => check([1, 2]).toHaveLength(3),
  'a property': (check) => check({ a: undefined }).toHaveProperty('a'),
  'no property': (check) => check({ a: 1 }).toHaveProperty('b'),
  'a greater number': (check) => check(2).toBeGreaterThan(2),
  'a great number': (check) => check(2).toBeGreaterThanOrEqual(2),
  'a lesser number': (check) => check(2).toBeLessThan(2),
  'a little number': (check) => check(2).toBeLessThanOrEqual(2),
  'a close number': (check) => check(0.301).toBeCloseTo(0.3),
  'no close number': (check) => check(0.31).toBeCloseTo(0.3),
  'the type': (check) => check('a').toBeTypeOf('string'),
  'another type': (check) => check(1).toBeTypeOf('string'),
  undefined: (check) => check(undefined).toBeUndefined(),
  'null as undefined': (check) => check(null).toBeUndefined(),
  'a pattern': (check) => check('abc').toMatch(/^a/),
  'another pattern': (check) => check('abc').toMatch(/^b/),
  'a rejection': (check) => check(Promise.reject({ code: 'A' })).rejects.toMatchObject({ code: 'A' }),
  'another rejection': (check) => check(Promise.reject({ code: 'A' })).rejects.toMatchObject({ code: 'B' }),
  'a rejection by an error': (check) => check(Promise.reject(new Error('x'))).rejects.toThrow(),
  'no rejection': (check) => check(Promise.resolve(1)).rejects.toThrow(),
}

async function holds(assertion: Assertion, check: typeof expect): Promise<boolean> {
  try {
    await assertion(check)
    return true
  } catch {
    return false
  }
}

test.each(Object.entries(assertions))("our own expect judges as vitest's does: %s", async (_, assertion) => {
  expect(await holds(assertion, own as unknown as typeof expect)).toBe(await holds(assertion, expect))
})

test('a failed assertion says what was expected, with its label', () => {
  expect(() => own([1], 'the ids').toEqual([2])).toThrow('the ids: expected [ 1 ] toEqual [ 2 ]')
})
