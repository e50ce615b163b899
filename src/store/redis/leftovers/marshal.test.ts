import { expect, test } from 'vitest'
import { isMarshal, loadMarshal } from './marshal.ts'

// As Ruby's Marshal.dump writes them. The values that it can write are in the fixture of test/cli/adopt.test.ts.
const HASH = '\x04\b{\x06:\x06a[\x07i\x02\xe8\x03"\x07xy'
const TWICE = '\x04\b{\x07:\x06ai\x06I"\x06a\x06:\x06ETi\x07'
const OBJECT = '\x04\bo:\x0bObject\x00'
const INFINITE = '\x04\bf\x08inf'
const BINARY = '\x04\b"\x06\xff'

const load = (text: string) => loadMarshal(Buffer.from(text, 'latin1'))

test('a hash of Ruby is read, and each beginning of its bytes is refused', () => {
  expect(isMarshal(Buffer.from(HASH, 'latin1'))).toBe(true)
  expect(isMarshal(Buffer.from('{}'))).toBe(false)
  expect({ ...(load(HASH) as object) }).toEqual({ a: [1000, 'xy'] })
  for (let length = 2; length < HASH.length; length++) {
    expect(() => load(HASH.slice(0, length))).toThrow(
      "a payload has a Ruby value that is cut off, which JSON can't represent",
    )
  }
})

test.each([
  [OBJECT, 'a Ruby object of the class Object'],
  [TWICE, 'a Ruby Hash with two members "a"'],
  [INFINITE, 'the Ruby Float inf'],
  [BINARY, 'a Ruby String of bytes that are no text in utf-8'],
])('%j is refused with its reason', (text, reason) => {
  expect(() => load(text)).toThrow(`a payload has ${reason}, which JSON can't represent`)
})
