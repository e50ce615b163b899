import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { Settlement, Store } from '#dist/store/contract.js'
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

test('a job that waits for a limit of another shard asks for room at most once a second', async () => {
  const store = await shards()
  const name = ['a', 'b', 'c', 'd', 'e', 'f'].map((one) => `limit:${one}`).find((one) => crc32(one) % 4096 < 2048)
  const limit = { name: name as string, max: 1, count: 0, per: 0, burst: 1, window: 'smooth' } as const
  expect(await store.limits.acquire(OWNER, [{ ticket: 'x', limits: [limit] }])).toMatchObject([{ over: null }])

  const waits = async (ticket: string) => {
    const text = textOf(ON_SECOND)
    const move = { to: `limited:${limit.name}`, text, score: 1 } as const
    const effects = [{ kind: 'await-limit', limit } as const]
    const settlement: Settlement = { queue: 'q', ticket, move, processed: 0, failed: 0, effects }
    const step = { now: NOW, started: [], settlements: [settlement], fetch: { queues: [], n: 0 } }
    expect((await store.workers.settleAndFetch(OWNER, step)).settled).toEqual(['ok'])
  }
  await waits(await fetchNew(store, ON_SECOND))
  expect((await store.limits.due(9)).limits).toEqual([{ name: limit.name, room: 1 }])

  const [entry] = await store.jobSets.page(`limited:${limit.name}`, { limit: 1 })
  const to = { to: 'queue', queue: 'q', text: textOf(ON_SECOND), end: 'front' } as const
  expect(
    await store.jobSets.swap(`limited:${limit.name}`, [{ ...(entry as NonNullable<typeof entry>), to }], NOW),
  ).toEqual(['ok'])
  const ticket = await fetchNext(store)
  expect(await store.limits.acquire(OWNER, [{ ticket, limits: [limit] }])).toMatchObject([{ over: 0 }])
  await waits(ticket)
  await store.limits.postpone([limit.name], 0)
  expect((await store.limits.due(9)).limits).toEqual([])
})
