/**
 * The part of vitest's `expect` that the cases use, on node:assert. The build puts it into the package in vitest's place,
 * so that the suite runs under any test runner.
 */

import { AssertionError } from 'node:assert'
import { inspect, isDeepStrictEqual } from 'node:util'

/** Stands for a value inside an expected one. */
class Matcher {
  readonly matches: (actual: unknown) => boolean
  readonly text: string

  constructor(text: string, matches: (actual: unknown) => boolean) {
    this.text = text
    this.matches = matches
  }

  [inspect.custom](): string {
    return this.text
  }
}

type Keyed = Record<string, unknown>
/** Compares two members of objects or two items of arrays. */
type Comparison = (actual: unknown, expected: unknown) => boolean

const isObject = (value: unknown): value is Keyed => typeof value === 'object' && value !== null
const isPlain = (value: unknown) => {
  const prototype: unknown = isObject(value) ? Object.getPrototypeOf(value) : undefined
  return prototype === null || prototype === Object.prototype || Array.isArray(value)
}

/** Members that are undefined count as missing. */
function equals(actual: unknown, expected: unknown): boolean {
  if (expected instanceof Matcher) return expected.matches(actual)
  if (Object.is(actual, expected)) return true
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected)) return false
  if (!isPlain(actual) || !isPlain(expected)) return isDeepStrictEqual(actual, expected)
  if (Array.isArray(expected)) return haveEqualItems(actual, expected, equals)
  return [...new Set([...Object.keys(actual), ...Object.keys(expected)])].every((key) =>
    equals(actual[key], expected[key]),
  )
}

/** `actual` may have members that `expected` does not have. */
function contains(actual: unknown, expected: unknown): boolean {
  if (expected instanceof Matcher || !isObject(expected) || !isPlain(expected)) return equals(actual, expected)
  if (!isObject(actual) || Array.isArray(actual) !== Array.isArray(expected)) return false
  if (Array.isArray(expected)) return haveEqualItems(actual, expected, contains)
  return Object.keys(expected).every((key) => key in actual && contains(actual[key], expected[key]))
}

function haveEqualItems(actual: unknown, expected: unknown[], compare: Comparison): boolean {
  const items = actual as unknown[]
  return items.length === expected.length && expected.every((item, i) => compare(items[i], item))
}

const CHECKS = {
  toBe: (actual: unknown, expected: unknown) => Object.is(actual, expected),
  toEqual: equals,
  toMatchObject: contains,
  toBeUndefined: (actual: unknown) => actual === undefined,
  toBeTypeOf: (actual: unknown, type: string) => typeof actual === type,
  toBeGreaterThan: (actual: number, least: number) => actual > least,
  toBeGreaterThanOrEqual: (actual: number, least: number) => actual >= least,
  toBeLessThan: (actual: number, most: number) => actual < most,
  toBeLessThanOrEqual: (actual: number, most: number) => actual <= most,
  toBeCloseTo: (actual: number, expected: number, digits = 2) => Math.abs(actual - expected) < 10 ** -digits / 2,
  toContain: (actual: string | Iterable<unknown>, item: string) =>
    typeof actual === 'string' ? actual.includes(item) : [...actual].includes(item),
  toContainEqual: (actual: unknown[], item: unknown) => actual.some((one) => equals(one, item)),
  toHaveLength: (actual: { length: number }, length: number) => actual.length === length,
  toHaveProperty: (actual: Keyed, name: string) => name in actual,
  toMatch: (actual: string, pattern: RegExp) => pattern.test(actual),
  /** Of a rejected promise: any reason will do. */
  toThrow: () => true,
}

type Checks<Result> = { [Name in keyof typeof CHECKS]: (...expected: unknown[]) => Result }

function checksOf(actual: unknown, label: string, isNegated: boolean): Checks<void> {
  const checks = Object.entries(CHECKS).map(([name, check]) => {
    const run = (...expected: unknown[]) => {
      const holds = (check as (...values: unknown[]) => boolean)(actual, ...expected)
      if (holds !== isNegated) return
      const values = [actual, ...expected].map((value) => inspect(value, { depth: 8 }))
      const what = `${isNegated ? 'not ' : ''}${name}`
      const message = `${label && `${label}: `}expected ${values[0]} ${what} ${values.slice(1).join(', ')}`
      throw new AssertionError({ message, actual, expected: expected[0], operator: what, stackStartFn: run })
    }
    return [name, run]
  })
  return Object.fromEntries(checks) as Checks<void>
}

function rejectionOf(promise: Promise<unknown>, label: string): Checks<Promise<void>> {
  const checks = Object.keys(CHECKS).map((name) => [
    name,
    async (...expected: unknown[]) => {
      const [outcome] = await Promise.allSettled([promise])
      if (outcome?.status === 'rejected') {
        return checksOf(outcome.reason, label, false)[name as keyof typeof CHECKS](...expected)
      }
      throw new AssertionError({ message: `${label && `${label}: `}the promise resolved instead of rejecting` })
    },
  ])
  return Object.fromEntries(checks) as Checks<Promise<void>>
}

export function expect(actual: unknown, label = '') {
  return {
    ...checksOf(actual, label, false),
    not: checksOf(actual, label, true),
    get rejects() {
      return rejectionOf(actual as Promise<unknown>, label)
    },
  }
}

expect.any = (type: typeof Number | typeof String | typeof Boolean | typeof Object): Matcher =>
  new Matcher(`any ${type.name}`, (actual) => actual !== null && actual !== undefined && Object(actual) instanceof type)

expect.arrayContaining = (items: unknown[]): Matcher =>
  new Matcher(`array containing ${inspect(items)}`, (actual) => {
    return Array.isArray(actual) && items.every((item) => actual.some((one) => equals(one, item)))
  })
