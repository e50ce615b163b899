import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HTTP_WORDING as PARAMETERS } from '../http/server/http-wording.ts'
import { WORDS as FLAGS } from './words.ts'

const src = new URL('../', import.meta.url)
const messages = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /^(tasks|job|client)\/.*(?<!\.test)\.ts$/.test(file))
  .map((file) => readFileSync(new URL(file, src), 'utf8'))

test.each([...new Set([...FLAGS, ...PARAMETERS].map(([option]) => option))])(
  'a message of the library says “%s”, which commands and requests have other words for',
  (option) => {
    expect(messages.some((text) => (typeof option === 'string' ? text.includes(option) : option.test(text)))).toBe(true)
  },
)

test('what has other words for requests has other words for commands', () => {
  const told = (words: typeof FLAGS) => words.map(([option]) => String(option))
  const isSaid = (option: string) => told(FLAGS).some((flag) => option.includes(flag))
  expect(told(PARAMETERS).filter((option) => !isSaid(option))).toEqual([])
})
