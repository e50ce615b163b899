import { expect, test } from 'vitest'
import { EventLoopReader, EventLoopState } from './event-loop-state.ts'

function both(concurrency: number) {
  const eventLoop = new EventLoopState(concurrency)
  return { eventLoop, reader: new EventLoopReader(eventLoop.memory) }
}

test('the job whose handler is on the stack is known until it awaits; then it is one of the running jobs until it ends', () => {
  const { eventLoop, reader } = both(2)
  expect([reader.current, reader.running, reader.count]).toEqual([undefined, [], 0])
  const first = eventLoop.began('a1', 'Import', 30)
  expect(reader.current).toEqual({ jid: 'a1', class: 'Import', timeout: 30 })
  eventLoop.yielded()
  expect(reader.current).toBeUndefined()
  const second = eventLoop.began('b2', 'Mail')
  expect(reader.current).toEqual({ jid: 'b2', class: 'Mail', timeout: 0 })
  eventLoop.yielded()
  expect(reader.running.map(({ jid }) => jid)).toEqual(['a1', 'b2'])
  eventLoop.ended(first)
  expect([reader.running.map(({ jid }) => jid), reader.count]).toEqual([['b2'], 1])
  eventLoop.ended(second)
  expect([reader.running, reader.count]).toEqual([[], 0])
})

test('each step of a job and each beat changes the counter of activity', () => {
  const { eventLoop, reader } = both(1)
  const seen = [reader.activity]
  const place = eventLoop.began('a', 'J')
  seen.push(reader.activity)
  eventLoop.yielded()
  seen.push(reader.activity)
  eventLoop.ended(place)
  seen.push(reader.activity)
  eventLoop.beat()
  seen.push(reader.activity)
  expect(new Set(seen).size).toBe(5)
})

test('a reused slot has the name of its new job, of any length and class', () => {
  const { eventLoop, reader } = both(1)
  for (const [jid, name] of [
    ['0123456789', 'LongName'],
    ['1', 'LongName'],
    ['23', 'X'],
    ['456', 'LongerNameStill'],
  ] as const) {
    const place = eventLoop.began(jid, name)
    expect(reader.current).toMatchObject({ jid, class: name })
    eventLoop.yielded()
    eventLoop.ended(place)
  }
})

test.each<[jid: unknown, name: string, id: string, kept: string]>([
  ['ünï-✓', 'Größe🎉', 'ünï-✓', 'Größe🎉'],
  ['x'.repeat(64), 'y'.repeat(128), 'x'.repeat(64), 'y'.repeat(128)],
  ['x'.repeat(65), `${'y'.repeat(126)}🎉`, `${'x'.repeat(64)}…`, `${'y'.repeat(126)}…`],
  // Another program's job may have anything for an id.
  ...[undefined, 7, null].map((jid): [unknown, string, string, string] => [jid, 'J', String(jid), 'J']),
])('a job with the id %s of class %s: a long name is cut between characters with a mark', (jid, name, id, kept) => {
  const { eventLoop, reader } = both(1)
  eventLoop.began(jid, name)
  expect(reader.current).toMatchObject({ jid: id, class: kept })
})

test('with more jobs than slots, the job on the stack is known, all are counted, and the slots are freed', () => {
  const { eventLoop, reader } = both(1)
  const places = ['a', 'b', 'c'].map((jid) => {
    const place = eventLoop.began(jid, 'J')
    expect(reader.current).toMatchObject({ jid })
    eventLoop.yielded()
    return place
  })
  expect(reader.count).toBe(3)
  expect(reader.running.map(({ jid }) => jid)).toEqual(['a', 'c'])
  for (const place of places) eventLoop.ended(place)
  expect([reader.running, reader.count]).toEqual([[], 0])
  eventLoop.began('d', 'J')
  eventLoop.began('e', 'J')
  expect(reader.running.map(({ jid }) => jid)).toEqual(['d', 'e'])
})
