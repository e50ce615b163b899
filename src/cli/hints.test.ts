import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { messageWithParameters, PARAMETERS } from '../http/server/hints.ts'
import { HighkiqError } from '../job/errors.ts'
import { FLAGS, messageWithFlags } from './hints.ts'

const src = new URL('../', import.meta.url)
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /^(app|tasks|job|client)\/.*(?<!\.test)\.ts$/.test(file))
  .map((file) => readFileSync(new URL(file, src), 'utf8'))
const hinted = new Set(files.flatMap((text) => [...text.matchAll(/\boption: '(\w+)'/g)].map(([, option]) => option)))

test('commands have words for every option that an error of the library hints at, and so have requests if they can set it', () => {
  expect(Object.keys(FLAGS).sort()).toEqual([...hinted].sort())
  // A server has the folder of artifacts, and its clients can't choose it.
  expect(Object.keys(PARAMETERS).sort()).toEqual([...hinted].filter((option) => option !== 'artifacts').sort())
})

test('a hint is replaced once, also when another error wraps it', () => {
  const details = { option: 'partial', hint: 'ask for the rest with partial' }
  const inner = new HighkiqError('EXPORT_INCOMPLETE', 'retry it, or ask for the rest with partial', details)
  const outer = new HighkiqError('EXPORT_INCOMPLETE', `${inner.message} (task 7)`, details, { cause: inner })
  expect(messageWithFlags(outer)).toBe('retry it, or ask for the rest with --partial (task 7)')
  expect(messageWithParameters(outer)).toBe('retry it, or ask for the rest with partial=1 (task 7)')
})

test('columns are quoted for a shell', () => {
  const hint = 'columns: {"Item, no":"sku"}'
  const details = { option: 'columns', value: { 'Item, no': 'sku' }, hint }
  const message = `leave it out (${hint} takes only this one)`
  const text = messageWithFlags(new HighkiqError('INVALID_FILE', message, details))
  expect(text).toBe("leave it out (--columns 'Item\\, no=sku' takes only this one)")
})
