import { expect, test } from 'vitest'
import { Redaction } from './redact.ts'

const named = new Redaction(['password', /_token$/])

test.for([
  ['no JSON: {x} "a": [', 'no JSON: {x} "a": ['],
  ['bad row {"user":"ann","password":"s3\\"c"}!', 'bad row {"user":"ann","password":"[redacted]"}!'],
  ['{"password":"s3', '{"password":"[redacted]"'],
  [
    'got {"a": [{"api_token" : {"x": ["}s3"]}, "b": 1}]} there',
    'got {"a": [{"api_token" : "[redacted]", "b": 1}]} there',
  ],
  ['"password": 123, "n": 4', '"password": "[redacted]", "n": 4'],
  ['"password":["s3', '"password":"[redacted]"'],
  ['x "PassWord": null', 'x "PassWord": "[redacted]"'],
  [
    String.raw`sent "{\"password\":\"s3\\\"c\",\"n\":1}" to`,
    String.raw`sent "{\"password\":\"[redacted]\",\"n\":1}" to`,
  ],
  [String.raw`sent "{\"password\":\"s3\\\\\"}"`, String.raw`sent "{\"password\":\"[redacted]\"}"`],
])('JSON inside other text is redacted: %j', ([text, shown]) => {
  expect(named.message(text as string)).toBe(shown)
})

test('a function sees the values of members inside other text', () => {
  const seen: unknown[] = []
  const redaction = new Redaction((key, value) => {
    if (key === 'error_message') return value
    seen.push([key, value])
    return key === 'card' ? `…${String(value).slice(-2)}` : value
  })
  expect(redaction.message('no: {"card":"4111","at":{"n":12}} end')).toBe('no: {"card":"…11","at":{"n":12}} end')
  expect(seen).toEqual([
    ['card', '4111'],
    ['at', { n: 12 }],
    ['n', 12],
  ])
})

test('a text that nests without an end takes little time', () => {
  const deep = `x ${'{"a":'.repeat(200_000)}`
  const began = performance.now()
  expect(named.message(deep)).toBe(deep)
  expect(new Redaction((_key, value) => value).message(deep)).toMatch(/\[redacted: the rest\]$/)
  named.message(`${'\\'.repeat(500_000)}" : ${'"'.repeat(300_000)}`)
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('a value with more levels than JSON can write is hidden in part', () => {
  const deep = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000))
  expect([named.hides('args', deep), named.hides('args', [1])]).toEqual([true, false])
})
