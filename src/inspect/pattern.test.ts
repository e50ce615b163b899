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
