import { expect, test } from 'vitest'
import { cutMessage, messagesAfter, readMessages } from './messages.ts'

const said = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ at: from + i, text: `n${from + i}` }))

test('a job keeps the messages of all its attempts: of more than 40 the first ten and the last thirty', () => {
  expect(messagesAfter(undefined, said(0, 3))).toEqual(said(0, 3))
  expect(messagesAfter(said(0, 10), said(10, 40))).toEqual(said(0, 40))
  expect(messagesAfter(said(0, 40), said(40, 45))).toEqual([...said(0, 10), ...said(15, 45)])
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
])('a member that is no list of messages has none: %j', (value) => {
  expect(readMessages(value)).toEqual([])
})
