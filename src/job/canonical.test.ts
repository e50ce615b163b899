import { expect, test } from 'vitest'
import { canonicalJson } from './canonical.ts'

test.each([
  ['', '""'],
  [null, 'null'],
  [7n, '7'],
  [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
  [[{ d: { z: 1, y: [{ f: 1, e: 2 }] }, c: 3 }, 'x'], '[{"c":3,"d":{"y":[{"e":2,"f":1}],"z":1}},"x"]'],
  [JSON.parse('{"b":1,"__proto__":{"y":1,"x":2}}'), '{"__proto__":{"x":2,"y":1},"b":1}'],
  [{ n: 9007199254740993n }, '{"n":9007199254740993}'],
])('canonical JSON %#', (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})
