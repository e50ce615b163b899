import { expect, test } from 'vitest'
import { type Block, describe, fieldsOf } from './block.ts'

const job = (jid: string) => ({ jid, class: 'Import', timeout: 0 })
const blocked = (about: Partial<Block>): Block => ({ seconds: 41.26, job: undefined, running: [], count: 0, ...about })

test.each([
  ['blocked 41 s in job a of class Import', blocked({ job: job('a'), running: [job('b'), job('a')], count: 2 })],
  ['blocked 41 s with no job running', blocked({})],
  ['blocked 41 s, most likely in the only running job: a of class Import', blocked({ running: [job('a')], count: 1 })],
  [
    'blocked 41 s, most likely in one of the 2 running jobs: a of class Import, b of class Import',
    blocked({ running: [job('a'), job('b')], count: 2 }),
  ],
])('%s', (words, block) => {
  expect(describe(block)).toBe(words)
})

test('of many running jobs the first eight are named, and the others counted', () => {
  const block = blocked({ running: [...'abcdefghi'].map(job), count: 12 })
  expect(describe(block)).toMatch(/ the 12 running jobs: a of class Import, .*, h of class Import, and 4 others$/)
  const running = [...'abcdefgh'].map((jid) => ({ jid, class: 'Import' }))
  expect(fieldsOf(block)).toEqual({ blockedSeconds: 41.3, running, busy: 12 })
})

test('the blocking job, if it is certain, has its own fields, as elsewhere in the log', () => {
  const fields = fieldsOf(blocked({ job: job('a'), running: [job('a')], count: 1 }))
  expect(fields).toEqual({ blockedSeconds: 41.3, jid: 'a', class: 'Import' })
})
