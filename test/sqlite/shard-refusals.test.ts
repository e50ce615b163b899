import { expect, onTestFinished, test } from 'vitest'
import { HighkiqError, PushError } from '#dist/job/errors.js'
import type { PushItem, RefusedPush, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { ShardedStore } from '#dist/store/sharded/store.js'
import { NOW } from '../conformance/bench.ts'

/** For so long a shard that has refused a job gets no plain one (AVOIDED_MS). */
const AVOIDED_MS = 1000

type Push = (
  items: PushItem[],
  store: (items: PushItem[]) => Promise<readonly RefusedPush[]>,
) => Promise<readonly RefusedPush[]>

const storeAll: Push = (items, store) => store(items)

/** Opens a store of shards in memory. Pushes to the shard with index `i` go through `pushes[i]`. */
async function shards(n = 2) {
  const pushes: Push[] = Array.from({ length: n }, () => storeAll)
  /** The numbers of the jobs of each push, by shard. */
  const pushed: number[][] = Array.from({ length: n }, () => [])
  const warnings: string[] = []
  const stores = pushes.map((_, index): Store => {
    const store = openStore('sqlite::memory:')
    const jobs = new Proxy(store.jobs, {
      get(target, name) {
        if (name === 'push') {
          return (items: PushItem[], now: number) => {
            pushed[index]?.push(items.length)
            return (pushes[index] as Push)(items, (some) => target.push(some, now))
          }
        }
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'jobs') return jobs
        if (name === 'url') return `sqlite:${index}`
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  })
  const store = new ShardedStore(stores, (message) => void warnings.push(message))
  onTestFinished(() => store.close())
  await store.open()
  /** Returns how many jobs are in the queue of each shard. */
  const sizes = () => Promise.all(stores.map(async ({ jobs }) => (await jobs.queues(['q']))[0]?.size))
  return { store, pushes, pushed, warnings, sizes }
}

let last = 0

/** Returns a job of the shard with this index of `n`. */
function job(index: number, more: Partial<PushItem> = {}, n = 2): PushItem {
  const slot = Math.ceil((index * 4096) / n)
    .toString(16)
    .padStart(3, '0')
  const jid = `${slot}${(++last).toString(16).padStart(21, '0')}`
  return {
    to: 'queue',
    queue: 'q',
    text: JSON.stringify({ class: 'C', args: [], queue: 'q', jid }),
    end: 'back',
    ...more,
  } as PushItem
}

const full = () => new HighkiqError('STORE_FULL', 'sqlite:1: the disk is full, nothing was stored')

/** Refuses a push with this cause. */
const refuse =
  (cause: HighkiqError, maybePushed = false): Push =>
  async () => {
    throw new PushError(cause.message, [], maybePushed, { cause })
  }

test('a plain job that its shard refuses is stored on another one, and later ones go there at once', async () => {
  const { store, pushes, pushed, warnings, sizes } = await shards()
  pushes[1] = refuse(full())
  expect(await store.jobs.push([job(1)], NOW)).toEqual([])
  expect(await store.jobs.push([job(1), job(1), job(0)], NOW)).toEqual([])
  expect(await sizes()).toEqual([4, 0])
  expect(pushed).toEqual([[1, 3], [1]])
  expect(warnings).toEqual([
    'shard 2 of 2 refuses jobs (sqlite:1: the disk is full, nothing was stored): plain jobs are pushed to the other shards until it accepts jobs',
  ])
})

test('after a second one job finds out whether a shard takes jobs again', async () => {
  const { store, pushes, pushed, warnings, sizes } = await shards()
  pushes[1] = refuse(full())
  await store.jobs.push([job(1)], NOW)
  const over = performance.now() + AVOIDED_MS
  while (performance.now() <= over) await new Promise((resolve) => setTimeout(resolve, over - performance.now() + 1))
  await store.jobs.push([job(1), job(1), job(1)], NOW)
  expect(pushed[1]).toEqual([1, 1])
  pushes[1] = storeAll
  const again = performance.now() + AVOIDED_MS
  while (performance.now() <= again) await new Promise((resolve) => setTimeout(resolve, again - performance.now() + 1))
  await store.jobs.push([job(1), job(1)], NOW)
  await store.jobs.push([job(1), job(1)], NOW)
  expect(pushed[1]).toEqual([1, 1, 1, 2])
  expect(await sizes()).toEqual([5, 3])
  // Once, although it has refused jobs twice.
  expect(warnings).toHaveLength(1)
})

test('a job whose answer is unknown is pushed to no other shard', async () => {
  const { store, pushes, sizes } = await shards()
  const lost = new HighkiqError('STORE_UNREACHABLE', 'the connection was lost', { sent: true })
  for (const cause of [lost, new HighkiqError('STORE_FULL', 'full'), new HighkiqError('STORE_UNUSABLE', 'no')]) {
    pushes[1] = async (items, store) => {
      await store(items)
      return refuse(cause, true)(items, store)
    }
    await expect(store.jobs.push([job(1), job(0)], NOW)).rejects.toMatchObject({ maybePushed: true })
    // A lost connection counts as a shard that is down, until it answers.
    while (store.unreachableShards.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(await sizes()).toEqual([3, 3])
})

test('of a push that a shard has done in part only the jobs that are certainly not stored go to another one', async () => {
  const { store, pushes, sizes } = await shards()
  const [stored, unsure, notStored, elsewhere] = [job(1), job(1), job(1), job(0)]
  pushes[1] = async (items, store) => {
    await store(items.slice(0, 2))
    const parts = { stored: new Set([stored]), notStored: new Set([notStored]) }
    throw new PushError('full', [], true, { cause: full(), parts })
  }
  const error = await store.jobs.push([stored, unsure, notStored, elsewhere], NOW).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(PushError)
  expect(error.maybePushed).toBe(true)
  expect(error.parts.stored).toEqual(new Set([stored, notStored, elsewhere]))
  expect([...error.parts.notStored]).toEqual([])
  expect(await sizes()).toEqual([2, 2])
})

test('a push succeeds when another shard has stored all that its shard has not', async () => {
  const { store, pushes, sizes } = await shards()
  const [stored, notStored] = [job(1), job(1)]
  pushes[1] = async (items, store) => {
    await store(items.slice(0, 1))
    const parts = { stored: new Set([stored]), notStored: new Set([notStored]) }
    throw new PushError('full', [], true, { cause: full(), parts })
  }
  expect(await store.jobs.push([stored, notStored], NOW)).toEqual([])
  expect(await sizes()).toEqual([1, 1])
})

test('a job that belongs to a shard is pushed to no other one', async () => {
  const { store, pushes, warnings, sizes } = await shards()
  pushes[1] = refuse(full())
  const belonging = [
    job(1, { once: 'fff000000000000000000001' }),
    job(1, { unique: { jid: 'x', claims: [{ key: 'fff000000000000000000002' }] } }),
    job(1, { limit: 'fff000000000000000000003' }),
  ]
  for (const item of belonging) {
    await expect(store.jobs.push([item], NOW)).rejects.toMatchObject({ maybePushed: false })
    const error = await store.jobs.push([item, job(1)], NOW).catch((thrown) => thrown)
    expect([...error.parts.notStored]).toEqual([item])
    expect(error.parts.stored.size).toBe(1)
  }
  expect(await sizes()).toEqual([3, 0])
  expect(warnings).toHaveLength(1)
})

test('a push that all shards refuse is refused, and none of them counts as refusing jobs', async () => {
  const { store, pushes, pushed, warnings, sizes } = await shards(3)
  for (const index of [0, 1, 2])
    pushes[index] = refuse(new HighkiqError('STORE_UNUSABLE', `shard ${index} refuses this job`))
  const error = await store.jobs.push([job(1, {}, 3)], NOW).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
  expect(pushed.map((some) => some.length)).toEqual([1, 1, 1])
  for (const index of [0, 1, 2]) pushes[index] = storeAll
  await store.jobs.push(
    [0, 1, 2].map((index) => job(index, {}, 3)),
    NOW,
  )
  expect(await sizes()).toEqual([1, 1, 1])
  expect(warnings).toEqual([])
})

test('a full queue, an invalid job and a closed store send no job to another shard', async () => {
  const { store, pushes, pushed } = await shards()
  for (const code of ['QUEUE_FULL', 'INVALID_JOB', 'STORE_CLOSED'] as const) {
    pushes[1] = refuse(new HighkiqError(code, 'no'))
    await expect(store.jobs.push([job(1)], NOW)).rejects.toMatchObject({ maybePushed: false })
  }
  const item = job(1, { maxLength: 0 })
  pushes[1] = storeAll
  expect(await store.jobs.push([item], NOW)).toEqual([{ item, holder: null, due: null }])
  expect(pushed[0]).toEqual([])
})
