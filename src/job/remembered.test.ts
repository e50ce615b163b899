import { expect, test } from 'vitest'
import { remembered } from './remembered.ts'

function counted() {
  const asked: string[] = []
  const length = remembered((text) => {
    asked.push(text)
    return text.length
  })
  return { asked, length }
}

test('a text is read once as long as it is used', () => {
  const { asked, length } = counted()
  for (let i = 0; i < 3; i++) {
    expect([length('one'), length('three')]).toEqual([3, 5])
    length.forgetUnused()
  }
  expect(asked).toEqual(['one', 'three'])
})

test('a text that is no longer used is forgotten', () => {
  const { asked, length } = counted()
  length('one')
  length.forgetUnused()
  length.forgetUnused()
  length('one')
  expect(asked).toEqual(['one', 'one'])
})

test('a long text is not kept', () => {
  const { asked, length } = counted()
  const long = 'x'.repeat(10_000)
  expect([length(long), length(long)]).toEqual([10_000, 10_000])
  expect(asked).toHaveLength(2)
})
