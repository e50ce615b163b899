import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkReadable } from './args.ts'
import { stringifyJson } from './json.ts'

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const refusalOf = (value: unknown, place = {}) => {
  try {
    checkReadable(stringifyJson(value), 'J', place)
  } catch (thrown) {
    return thrown as Error
  }
  return undefined
}

test.each([
  ['class', { class: '\ud83d' }],
  ['queue', { class: 'J', queue: 'a\udc00b' }],
  ['tags[1]', { tags: ['a', '\ud83d!'] }],
  ['own.deep[0]', { own: { deep: ['\udfff'] } }],
  ['args[0]["\\ud83d"]', { args: [{ '\ud83d': 1 }] }],
])('half of a surrogate pair is refused with its path: %s', (path, payload) => {
  expect(refusalOf(payload)).toMatchObject({ code: 'INVALID_ARGS', details: { path, job: 'J' } })
  expect(refusalOf(payload)?.message).toBe(
    `J: ${path} has half of a surrogate pair, which is no character: pass its toWellFormed()`,
  )
})

test('whole surrogate pairs, and texts that look like an escape, are accepted', () => {
  expect(refusalOf({ args: ['😀', '\\ud83d', '\\\\ud83d', 'C:\\udon'] })).toBeUndefined()
})

test('100 levels are accepted and 101 are refused, with any values around them', () => {
  expect(refusalOf({ args: nested(99) })).toBeUndefined()
  expect(refusalOf({ args: nested(100) })).toMatchObject({ details: { path: 'args[0]' } })
  expect(refusalOf(nested(98), { name: 'args', around: 2 })).toBeUndefined()
  expect(refusalOf(nested(99), { name: 'args', around: 2 })).toMatchObject({ details: { path: 'args[0]' } })
  // This text has many brackets and few levels.
  expect(refusalOf({ args: Array.from({ length: 500 }, () => [{ a: '[{' }]) })).toBeUndefined()
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
      expect(refusalOf(value) === undefined).toBe(isWell(read) && levelsOf(read) <= 100)
    }),
    { numRuns: 40 },
  )
})
