import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FINDING_TEXTS, finding } from './finding-texts.ts'

const CODES = Object.keys(FINDING_TEXTS).filter((key) => !key.endsWith('.advice'))

test('each code is used once in the source, and each advice belongs to a code', () => {
  const src = new URL('../../', import.meta.url)
  const makers = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(new URL(name, src), 'utf8'))
    .filter((text) => /import \{ finding \} from '.*finding-texts\.ts'/.test(text))
  const places = CODES.map((code) => [code, makers.join('').split(`'${code}'`).length - 1])
  expect(places.filter(([, n]) => n !== 1)).toEqual([])
  const advised = Object.keys(FINDING_TEXTS).filter((key) => key.endsWith('.advice'))
  expect(advised.filter((key) => !CODES.includes(key.slice(0, -'.advice'.length)))).toEqual([])
})

test('a finding has its code, its values, and sentences with these values', () => {
  const params = { queue: '{n}', n: 1, command: 'highkiq resume mail' }
  expect(finding('warning', 'queue-paused', params)).toEqual({
    ...{ severity: 'warning', code: 'queue-paused', params },
    text: 'the queue {n} is paused, and 1 job waits',
    advice: 'To resume it: highkiq resume mail',
  })
  expect(finding('warning', 'queue-paused', { ...params, n: 2000 }).text).toMatch(/ 2,000 jobs wait$/)
  const { text } = finding('error', 'worker-silent', { identity: 'a', seconds: 75 })
  expect(text).toBe('worker a is silent: its last heartbeat was 1 min 15 s ago')
})

test('a finding that is ok has no advice, and one without values has no params', () => {
  const params = { bytes: 2_000_000 }
  const text = '2 MB of the disk are free'
  expect(finding('ok', 'disk-free', params)).toEqual({ severity: 'ok', code: 'disk-free', params, text })
  expect(finding('error', 'disk-free', params)).toMatchObject({ text, advice: expect.stringContaining('Free some') })
  expect(finding('ok', 'queues-served')).not.toHaveProperty('params')
})

test('the types require each value of the text and of the advice', () => {
  // @ts-expect-error `command` of the advice is missing.
  expect(finding('warning', 'queue-paused', { queue: 'a', n: 2 }).text).toContain('2 jobs')
  // @ts-expect-error `seconds` is missing.
  expect(finding('ok', 'due-none').code).toBe('due-none')
})
