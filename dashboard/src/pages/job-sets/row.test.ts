import { expect, test } from 'vitest'
import { jidOf, rowsOf } from './row.ts'

const job = (jid: string, digit: string) => ({ jid, key: `17.5~${digit.repeat(16)}~x` })
const idsOf = (jobs: { jid: string; key: string }[]) => rowsOf(jobs).map(({ id }) => id)

test('a row is identified by its jid', () => {
  expect(idsOf([job('a', '1'), job('b', '2')])).toEqual(['a', 'b'])
  expect(rowsOf([job('a', '1')])[0]?.job).toEqual(job('a', '1'))
})

test('rows that share a jid, or have none, keep their ids while others come and go', () => {
  const [a, b, none] = [job('same', '1'), job('same', '2'), job('', '3')]
  const ids = idsOf([a, b, none, job('', '4')])
  expect(new Set(ids).size).toBe(4)
  expect(idsOf([job('', '5'), none, job('new', '6'), b, a])).toEqual([
    expect.any(String),
    ids[2],
    'new',
    ids[1],
    ids[0],
  ])
  // The selection of one must not become that of the other when one of them is gone.
  expect(ids).not.toContain(idsOf([b])[0])
  expect(ids.map(jidOf)).toEqual(['same', 'same', '', ''])
})

test('rows with the same payload, and those without keys, are numbered', () => {
  const ids = idsOf([job('a', '1'), job('a', '1'), { jid: 'b', key: '' }, { jid: 'b', key: '' }, { jid: '', key: '' }])
  expect(ids).toEqual(['a#1111111111111111', 'a#1111111111111111#2', 'b', 'b#2', '#1'])
  expect(ids.map(jidOf)).toEqual(['a', 'a', 'b', 'b', ''])
  expect(jidOf('a#b')).toBe('a#b')
})
