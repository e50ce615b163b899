import { expect, test } from 'vitest'
import { VitalSigns, Vitals } from './vitals.ts'

function both(concurrency: number) {
  const vitals = new Vitals(concurrency)
  return { vitals, signs: new VitalSigns(vitals.memory) }
}

test('the job whose handler is on the stack is known until it answers; then it is one of those that run, until it ends', () => {
  const { vitals, signs } = both(2)
  expect([signs.current, signs.running, signs.count]).toEqual([undefined, [], 0])
  const first = vitals.began('a1', 'Import', 30)
  expect(signs.current).toEqual({ jid: 'a1', class: 'Import', timeout: 30 })
  vitals.yielded()
  expect(signs.current).toBeUndefined()
  const second = vitals.began('b2', 'Mail')
  expect(signs.current).toEqual({ jid: 'b2', class: 'Mail', timeout: 0 })
  vitals.yielded()
  expect(signs.running.map(({ jid }) => jid)).toEqual(['a1', 'b2'])
  vitals.ended(first)
  expect([signs.running.map(({ jid }) => jid), signs.count]).toEqual([['b2'], 1])
  vitals.ended(second)
  expect([signs.running, signs.count]).toEqual([[], 0])
})

test('each step of a job is a sign of life, and so is a beat', () => {
  const { vitals, signs } = both(1)
  const seen = [signs.life]
  const place = vitals.began('a', 'J')
  seen.push(signs.life)
  vitals.yielded()
  seen.push(signs.life)
  vitals.ended(place)
  seen.push(signs.life)
  vitals.beat()
  seen.push(signs.life)
  expect(new Set(seen).size).toBe(5)
})

test('a place that was used before has the name of who has it now, shorter or longer, of the same class or another', () => {
  const { vitals, signs } = both(1)
  for (const [jid, name] of [
    ['0123456789', 'LongName'],
    ['1', 'LongName'],
    ['23', 'X'],
    ['456', 'LongerNameStill'],
  ] as const) {
    const place = vitals.began(jid, name)
    expect(signs.current).toMatchObject({ jid, class: name })
    vitals.yielded()
    vitals.ended(place)
  }
})

test('names of any characters are kept; what is too long is cut between characters, and marked', () => {
  const { vitals, signs } = both(3)
  vitals.began('ünï-✓', 'Größe🎉')
  expect(signs.current).toMatchObject({ jid: 'ünï-✓', class: 'Größe🎉' })
  vitals.began('x'.repeat(64), 'y'.repeat(128))
  expect(signs.current).toMatchObject({ jid: 'x'.repeat(64), class: 'y'.repeat(128) })
  vitals.began('x'.repeat(65), `${'y'.repeat(126)}🎉`)
  expect(signs.current).toMatchObject({ jid: `${'x'.repeat(64)}…`, class: `${'y'.repeat(126)}…` })
})

test.each([[undefined], [7], [null]])('another program’s job may have %s for an id', (jid) => {
  const { vitals, signs } = both(1)
  vitals.began(jid, 'J')
  expect(signs.current).toMatchObject({ jid: String(jid) })
})

test('more jobs than there are places: who is on the stack is known, all are counted, and the places come back', () => {
  const { vitals, signs } = both(1)
  const places = ['a', 'b', 'c'].map((jid) => {
    const place = vitals.began(jid, 'J')
    expect(signs.current).toMatchObject({ jid })
    vitals.yielded()
    return place
  })
  expect(signs.count).toBe(3)
  expect(signs.running.map(({ jid }) => jid)).toEqual(['a', 'c'])
  for (const place of places) vitals.ended(place)
  expect([signs.running, signs.count]).toEqual([[], 0])
  vitals.began('d', 'J')
  vitals.began('e', 'J')
  expect(signs.running.map(({ jid }) => jid)).toEqual(['d', 'e'])
})
