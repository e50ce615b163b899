import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { Limit, Settlement, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { NOW } from '../conformance/bench.ts'

const OWNER = 'o'
/** The jids of two jobs on different shards. */
const ON_FIRST = '000000000000000000000001'
const ON_SECOND = 'fff000000000000000000001'

/** Opens a store of two files, with an owner that has a lease. */
async function shards(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-shards-'))
  const store = openStore(`sqlite:${folder}/a.db sqlite:${folder}/b.db`)
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await store.open()
  await store.workers.join(OWNER, { queues: ['q'], seconds: 30, host: 'here' })
  return store
}

const textOf = (jid: string) => JSON.stringify({ class: 'Some', args: [], queue: 'q', jid })

/** Pushes a job and fetches it. Returns its ticket. */
async function fetchNew(store: Store, jid: string): Promise<string> {
  await store.jobs.push([{ to: 'queue', queue: 'q', text: textOf(jid), end: 'back' }], NOW)
  return fetchNext(store)
}

async function fetchNext({ workers }: Store): Promise<string> {
  const fetch = { queues: ['q'], n: 1 }
  const { fetched } = await workers.settleAndFetch(OWNER, { now: NOW, started: [], settlements: [], fetch })
  return (fetched[0] as { ticket: string }).ticket
}

test('the jobs that a dead owner had on each shard are found', async () => {
  const store = await shards()
  for (const jid of [ON_FIRST, ON_SECOND]) await fetchNew(store, jid)
  expect(await store.workers.claim(OWNER)).toBe(true)
  const orphaned = await store.workers.orphaned(9)
  expect(orphaned.map(({ text }) => text)).toEqual([textOf(ON_FIRST), textOf(ON_SECOND)])
  expect(await store.workers.orphaned(1)).toHaveLength(1)
})

test('an owner whose lease was claimed on one shard has lost it, although the other one renews it', async () => {
  const store = await shards()
  expect(await store.workers.renew(OWNER, 30)).toBe(true)
  const again = await shards()
  const [first] = again.url.split(' ')
  const one = openStore(first as string)
  onTestFinished(() => one.close())
  await one.open()
  expect(await one.workers.claim(OWNER)).toBe(true)
  // The first renewal of this process: those before were of the lease thread.
  expect(await again.workers.renew(OWNER, 30)).toBe(false)
})

/** Returns a limit of the first shard. */
function limitOfFirst(max: number): Limit {
  const name = ['a', 'b', 'c', 'd', 'e', 'f'].map((one) => `limit:${one}`).find((one) => crc32(one) % 4096 < 2048)
  return { name: name as string, max, count: 0, per: 0, burst: 1, window: 'smooth' }
}

/** Settles the attempt of a job of the second shard: it waits for the limit. */
async function waits(store: Store, limit: Limit, jid: string): Promise<void> {
  const move = { to: `limited:${limit.name}`, text: textOf(jid), score: 1 } as const
  const effects = [{ kind: 'await-limit', limit } as const]
  await settle(store, { queue: 'q', ticket: await fetchNew(store, jid), move, processed: 0, failed: 0, effects })
}

async function settle(store: Store, settlement: Settlement): Promise<void> {
  const step = { now: NOW, started: [], settlements: [settlement], fetch: { queues: [], n: 0 } }
  expect((await store.workers.settleAndFetch(OWNER, step)).settled).toEqual(['ok'])
}

test('the jobs that wait for a limit of another shard have as much room as the slots leave there', async () => {
  const store = await shards()
  const limit = limitOfFirst(3)
  const attempts = ['x', 'y'].map((ticket) => ({ ticket, limits: [limit] }))
  await store.limits.acquire(OWNER, attempts)
  for (let n = 1; n <= 4; n++) await waits(store, limit, ON_SECOND.slice(0, -1) + n)
  const due = await store.limits.due(9)
  expect(due.limits).toEqual([{ name: limit.name, room: 1 }])
  // Whether a slot is released or not, the next check is soon enough.
  expect(due.nextMs).toBeLessThanOrEqual(1000)
})

test('a job that waits for a limit of another shard is checked once a second, and at once when a job of its shard ends', async () => {
  const store = await shards()
  const limit = limitOfFirst(1)
  const ticket = await fetchNew(store, ON_SECOND)
  await store.limits.acquire(OWNER, [{ ticket, limits: [limit] }])
  await waits(store, limit, ON_SECOND.slice(0, -1) + 2)
  expect((await store.limits.due(9)).limits).toEqual([])
  await store.limits.postpone([limit.name], 0)
  expect((await store.limits.due(9)).limits).toEqual([])

  const woken = store.jobSets.waitUntilDue(60_000, new AbortController().signal)
  const effects = [{ kind: 'release-slot', limit: limit.name, owner: OWNER, ticket } as const]
  await settle(store, { queue: 'q', ticket, move: null, processed: 1, failed: 0, effects })
  await woken
  expect((await store.limits.due(9)).limits).toEqual([{ name: limit.name, room: 1 }])
})

test('jobs that wait for a limit on its shard and on another one have its free slots together', async () => {
  const store = await shards()
  const limit = limitOfFirst(3)
  await store.limits.acquire(OWNER, [{ ticket: 'x', limits: [limit] }])
  for (const jid of [ON_FIRST, ON_SECOND, ON_FIRST.replace(/1$/, '2')]) await waits(store, limit, jid)
  expect((await store.limits.due(9)).limits).toEqual([{ name: limit.name, room: 2 }])
})

test('a job that waits for a rate of another shard is checked as often as the rate has room, at least once a second', async () => {
  for (const [count, longest] of [
    [20, 50],
    [1, 1000],
  ] as const) {
    const store = await shards()
    const limit = { ...limitOfFirst(0), count, per: 1000 }
    await waits(store, limit, ON_SECOND)
    const { limits, nextMs } = await store.limits.due(9)
    expect(limits).toEqual([{ name: limit.name, room: 1 }])
    const second = openStore(store.url.split(' ')[1] as string)
    onTestFinished(() => second.close())
    for (const ms of [nextMs, (await second.limits.due(9)).nextMs]) expect(ms).toBeLessThanOrEqual(longest)
  }
})
