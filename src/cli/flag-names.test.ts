import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HTTP_WORDING as PARAMETERS } from '../http/server/answer.ts'
import { FLAG_NAMES as FLAGS } from './flag-names.ts'

const src = new URL('../', import.meta.url)
const messages = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /^(tasks|job|client)\/.*(?<!\.test)\.ts$/.test(file))
  .map((file) => readFileSync(new URL(file, src), 'utf8'))

test.each([...new Set([...FLAGS, ...PARAMETERS].map(([option]) => option))])(
  'a message of the library contains “%s”, which commands and requests rename',
  (option) => {
    expect(messages.some((text) => (typeof option === 'string' ? text.includes(option) : option.test(text)))).toBe(true)
  },
)

test('every option that requests rename is renamed by commands, too', () => {
  const optionsOf = (names: typeof FLAGS) => names.map(([option]) => String(option))
  const isRenamed = (option: string) => optionsOf(FLAGS).some((flag) => option.includes(flag))
  expect(optionsOf(PARAMETERS).filter((option) => !isRenamed(option))).toEqual([])
})
