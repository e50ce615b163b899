import { expect, test } from 'vitest'
import { ChangeLog } from './change-log.ts'

interface Item {
  name: string
  size: number
}

const log = () => new ChangeLog<Item>(({ name }) => name)
const items = (sizes: Record<string, number>) => Object.entries(sizes).map(([name, size]) => ({ name, size }))

test('a client gets the whole list first, and then only what has changed', () => {
  const one = log()
  one.update(items({ a: 1, b: 2, c: 3 }))
  const first = one.since(undefined)
  expect(first).toMatchObject({ whole: true, items: items({ a: 1, b: 2, c: 3 }), removed: [] })
  expect(one.since(first.version)).toEqual({ version: first.version, whole: false, items: [], removed: [] })
  one.update(items({ a: 1, b: 20, d: 4 }))
  const next = one.since(first.version)
  expect(next).toMatchObject({ whole: false, items: items({ b: 20, d: 4 }), removed: ['c'] })
  expect(next.version).not.toBe(first.version)
  // The same state is the same version.
  one.update(items({ a: 1, b: 20, d: 4 }))
  expect(one.since(next.version)).toEqual({ version: next.version, whole: false, items: [], removed: [] })
})

test('a client that missed updates gets the sum of them, and an item that came back is not removed', () => {
  const one = log()
  one.update(items({ a: 1, b: 2, c: 3 }))
  const { version } = one.since(undefined)
  one.update(items({ a: 1, c: 3 }))
  one.update(items({ a: 2, c: 3 }))
  one.update(items({ a: 2, b: 2 }))
  expect(one.since(version)).toMatchObject({ whole: false, items: items({ a: 2, b: 2 }), removed: ['c'] })
})

test('a version of another server, of the future, or of nothing gives the whole list', () => {
  const [one, other] = [log(), log()]
  one.update(items({ a: 1 }))
  other.update(items({ a: 1 }))
  const { version } = one.since(undefined)
  const later = version.replace(/\d+$/, '99')
  const wrong = version.replace(/\d+$/, 'x')
  for (const unknown of [other.since(undefined).version, later, wrong, 'x', '', '.']) {
    expect(one.since(unknown)).toMatchObject({ whole: true, items: items({ a: 1 }) })
  }
})

test('keys of removed items are forgotten above a limit, and older versions then give the whole list', () => {
  const one = log()
  one.update(items(Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`q${n}`, n]))))
  const { version } = one.since(undefined)
  one.update([])
  const after = one.since(version)
  expect(after).toMatchObject({ whole: true, items: [], removed: [] })
  one.update(items({ a: 1 }))
  expect(one.since(after.version)).toMatchObject({ whole: false, items: items({ a: 1 }), removed: [] })
})
