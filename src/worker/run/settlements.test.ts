import { expect, test } from 'vitest'
import type { Engine } from '../engine.ts'
import { deadUnchanged } from './settlements.ts'

test('a job that goes to the dead set unchanged releases its locks, except one with a duration', () => {
  const locks = 'jid,success:a,pending:b,time:c'
  const text = JSON.stringify({ class: 'J', args: [], jid: 'order-1', hk_unique: locks, hk_unique_ends: 1e13 })
  const engine = { now: () => 5000 } as Engine
  const fetched = { queue: 'default', ticket: 't', text }
  const release = (key: string) => ({ kind: 'release-unique', key, holder: 'order-1' })
  expect(deadUnchanged(engine, fetched)).toEqual({
    queue: 'default',
    ticket: 't',
    move: { to: 'dead', text, score: 5 },
    processed: 0,
    failed: 0,
    effects: ['jid:order-1', 'a', 'b'].map(release),
  })
  expect(deadUnchanged(engine, { ...fetched, text: 'no job' })).not.toHaveProperty('effects')
})
