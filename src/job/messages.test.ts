import { expect, test } from 'vitest'
import { cutMessage, messagesAfter, readMessages } from './messages.ts'

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ at: from + i, text: `n${from + i}` }))

test('a job keeps the messages of all its attempts: of more than 40 the first ten and the last thirty', () => {
  expect(messagesAfter(undefined, numbered(0, 3))).toEqual(numbered(0, 3))
  expect(messagesAfter(numbered(0, 10), numbered(10, 40))).toEqual(numbered(0, 40))
  expect(messagesAfter(numbered(0, 40), numbered(40, 45))).toEqual([...numbered(0, 10), ...numbered(15, 45)])
})

test('a long message is cut, and never leaves half a character', () => {
  expect(cutMessage('x'.repeat(2000))).toBe('x'.repeat(2000))
  expect(cutMessage('x'.repeat(2001))).toBe(`${'x'.repeat(1999)}…`)
  expect(cutMessage(`${'x'.repeat(1998)}🦙🦙`)).toBe(`${'x'.repeat(1998)}…`)
})

test.each([
  undefined,
  null,
  7,
  'text',
  { at: 1, text: 'x' },
  [
    null,
    'x',
    [],
    {},
    { at: '1', text: 'x' },
    { at: 1, text: 2 },
    { at: 3e14, text: 'x' },
    { at: -1, text: 'x' },
    { at: {}, text: 'x' },
  ],
])('a member that is not a list of messages is read as an empty one: %j', (value) => {
  expect(readMessages(value)).toEqual([])
})
