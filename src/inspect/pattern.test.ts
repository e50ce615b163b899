import { expect, test } from 'vitest'
import { searchOf } from './pattern.ts'

test.each([
  ['bob', '{"args":["bob"]}', true],
  ['[1,2]', '{"args":[1,2]}', true],
  ['[1,2]', '{"args":[1,3]}', false],
  ['a?c', 'xa?cx', true],
  ['a?c', 'xabcx', false],
  ['*bob*', '{"args":["bob"]}', true],
  ['*bob', '{"args":["bob"]}', false],
  ['{*}', '{"args":["bob"]}', true],
  ['*"bo?"*', '{"args":["bob"]}', true],
  ['*b[ao]b*', '["bab"]', true],
  ['*b[^ao]b*', '["bab"]', false],
  ['*[0-9][0-9]*', 'x42', true],
  ['*[0-9][0-9]*', 'x4', false],
  ['*[a-]*', '-', true],
  ['*[z-a]*', 'z', true],
  // Code points, not UTF-16 units, decide whether a range is ascending.
  ['*[\u{1f600}-\uff01]*', '\uff01', true],
  ['*[\uff01-\u{1f600}]*', '\u{1d11e}', true],
  ['*[1*', '{"args":[1]}', true],
  ['*[]*', '[]', true],
  ['*\\**', 'a*b', true],
  ['*\\**', 'ab', false],
  ['*\\[1\\]*', '[1]', true],
  ['*a*b*c*', 'a-b-c', true],
  ['*a*b*c*', 'a-c-b', false],
  ['*ab*ab', 'ab', false],
  ['*ab*ab', 'abab', true],
  ['*.+$(){}|/^*', 'x.+$(){}|/^x', true],
  ['*ž?*', 'xž\u{1f600}', true],
  ['*', '', true],
  ['a*', 'a\nb', true],
  ['*ab*ba', 'aba', false],
  ['*b\u{1f600}*', 'ab\u{1f600}c', true],
  ['*??', 'x\u{1f600}', true],
  ['a\\*b', 'a*b', true],
  ['a\\*b', 'a*bc', false],
])('%s in %s: %s', (pattern, text, expected) => {
  const search = searchOf(pattern)
  expect(search.matches(text)).toBe(expected)
  if (expected) expect(text).toContain(search.needle)
})

test('the needle is the longest piece that every match contains', () => {
  expect(searchOf('*HardJob*bob*').needle).toBe('HardJob')
  expect(searchOf('*b?c[de]longest\\**').needle).toBe('longest*')
  expect(searchOf('*').needle).toBe('')
})

test('the time of a pattern with many stars is linear in the length of the text', () => {
  const { matches } = searchOf(`*${'a*'.repeat(30)}b`)
  const began = performance.now()
  expect(matches('a'.repeat(200_000))).toBe(false)
  expect(performance.now() - began).toBeLessThan(2000)
})

test('the time of a pattern is bounded, whatever text it is matched with', () => {
  const text = 'a'.repeat(1_000_000)
  const began = performance.now()
  expect(searchOf(`*b${'a'.repeat(5000)}*`).matches(text)).toBe(false)
  expect(searchOf(`*${'a'.repeat(5000)}b*`).matches(text)).toBe(false)
  expect(searchOf(`*${'?'.repeat(99)}b*`).matches(text)).toBe(false)
  expect(searchOf(`*${'?'.repeat(99)}b`).matches(text)).toBe(false)
  expect(performance.now() - began).toBeLessThan(5000)
  expect(() => searchOf(`*${'?'.repeat(100)}b*`)).toThrow(
    'a part of a pattern without * may have at most 100 characters if it has ? or [ ] (got 101): split it with a *',
  )
  expect(() => searchOf(`*${'['.repeat(10_000)}`)).toThrow(
    'a pattern with * may have at most 10,000 characters (got 10,001)',
  )
})
