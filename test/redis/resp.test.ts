import { describe, expect, test } from 'vitest'
import { encode, Reader } from './resp.ts'

const messages = [
  encode('SET', 'key', 'va\r\nlue'),
  encode('SET', Buffer.from([0, 13, 10, 255]), ''),
  ...[
    '+OK\r\n',
    '-ERR no\r\n',
    ':-12\r\n',
    '$0\r\n\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '*0\r\n',
    '*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n$-1\r\n',
    '_\r\n',
    '#t\r\n',
    ',1.5\r\n',
    '(123456789012345678901\r\n',
    '!9\r\nSYNTAX no\r\n',
    '=7\r\ntxt:abc\r\n',
    '%2\r\n+a\r\n:1\r\n+b\r\n%0\r\n',
    '~2\r\n:1\r\n:2\r\n',
    '>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n',
    '|1\r\n+ttl\r\n:3\r\n*2\r\n:1\r\n|1\r\n+x\r\n+y\r\n:2\r\n',
    '*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n',
  ].map((text) => Buffer.from(text)),
]

describe('the reader of the Redis protocol', () => {
  test('finds every message, in one piece and byte by byte', () => {
    const all = Buffer.concat(messages)
    const whole = new Reader().read(all).map(({ bytes }) => bytes.toString('latin1'))
    expect(whole).toEqual(messages.map((bytes) => bytes.toString('latin1')))

    const reader = new Reader()
    const bitten = [...all].flatMap((byte) => reader.read(Buffer.from([byte])))
    expect(bitten.map(({ bytes }) => bytes.toString('latin1'))).toEqual(whole)
  })

  test('finds every message in any pieces', () => {
    const all = Buffer.concat(messages)
    for (let size = 2; size < all.length; size++) {
      const reader = new Reader()
      const found: Buffer[] = []
      for (let at = 0; at < all.length; at += size) {
        found.push(...reader.read(all.subarray(at, at + size)).map(({ bytes }) => bytes))
      }
      expect(Buffer.concat(found).equals(all)).toBe(true)
      expect(found).toHaveLength(messages.length)
    }
  })

  test('returns the type and the strings', () => {
    const [set, pushed, nested] = new Reader().read(
      Buffer.concat([
        encode('SET', 'key', 'two words'),
        Buffer.from('>2\r\n$7\r\nmessage\r\n+hi\r\n'),
        Buffer.from('*2\r\n*1\r\n$1\r\na\r\n:7\r\n'),
      ]),
    )
    expect([set?.type, set?.parts.map(String)]).toEqual(['*', ['SET', 'key', 'two words']])
    expect([pushed?.type, pushed?.parts.map(String)]).toEqual(['>', ['message', 'hi']])
    expect([nested?.type, nested?.parts.map(String)]).toEqual(['*', ['a', '7']])
  })
})
