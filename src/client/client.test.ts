import { expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../job/logger.ts'
import type { PushItem } from '../store/contract.ts'
import { SqliteStore } from '../store/sqlite/store.ts'
import { Client } from './client.ts'

const NOW = 1_700_000_000_000
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** A client of an app with the job J, and the calls of its store's `push`. */
function clientOf() {
  const store = new SqliteStore({ path: ':memory:', synchronous: 'NORMAL' })
  onTestFinished(() => store.close())
  const calls: PushItem[][] = []
  const { push } = store.jobs
  const noting = (items: PushItem[], now: number) => {
    calls.push(items)
    return push(items, now)
  }
  Object.assign(store.jobs, { push: noting })
  const client = new Client({
    store: () => store,
    open: () => store,
    definition: (name) => (name === 'J' ? { name, options: {}, own: {}, handler: async () => {} } : undefined),
    defaults: {},
    wire: 8,
    now: () => NOW,
    random: () => 0,
    within: (_payload, work) => work(),
    replaceHolder: async () => true,
    log: silent,
    strictArgs: 'raise',
    isSharded: () => false,
    maxLengths: new Map(),
    maxArgsBytes: { warn: 64_000, refuse: 10_000_000 },
  })
  return { client, calls }
}

test('pushes of one turn are one call of the store, of at most a thousand jobs', async () => {
  const { client, calls } = clientOf()
  await Promise.all(Array.from({ length: 2500 }, (_, n) => client.push({ class: 'J', args: [n] })))
  expect(calls.map((items) => items.length)).toEqual([1000, 1000, 500])
  await client.push({ class: 'J', args: [] })
  expect(calls).toHaveLength(4)
})

test('promotion without middleware sets enqueued_at, removes at, and changes nothing else', async () => {
  const { client } = clientOf()
  const text = '{"class":"J","args":[1.0,12345678901234567890],"at":5,"queue":"q","x":[ ]}'
  expect(await client.promote(text)).toEqual({
    text: `{"class":"J","args":[1.0,12345678901234567890],"queue":"q","x":[ ],"enqueued_at":${NOW}}`,
    queue: 'q',
  })
})

test('promotion returns undefined for an invalid job, null for a filtered one, and the queue default when none is named', async () => {
  const { client } = clientOf()
  expect(await client.promote('garbage')).toBeUndefined()
  expect(await client.promote('{"class":"J","args":[]}')).toMatchObject({ queue: 'default' })
  client.chain.use(() => null)
  expect(await client.promote('{"class":"J","args":[]}')).toBeNull()
})

test('promotion writes the members that middleware added, changed and removed', async () => {
  const { client } = clientOf()
  client.chain.use(async (payload, next) => {
    payload.locale = 'de'
    payload.queue = 'q2'
    payload.args.push(2n ** 60n)
    delete payload.old
    return next()
  })
  const promoted = await client.promote('{"class":"J","args":[1],"old":1,"queue":"q","kept":1.0}')
  expect(promoted?.queue).toBe('q2')
  expect(promoted?.text).toBe(
    `{"class":"J","args":[1,1152921504606846976],"queue":"q2","kept":1.0,"enqueued_at":${NOW},"locale":"de"}`,
  )
})
