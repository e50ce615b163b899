import { expect } from 'vitest'
import { type OrderedWaiting, type ScoredPayload, shardOf } from '#dist/store/contract.js'
import { type Bench, type Case, sure } from '../bench.ts'
import { done, type HeldBatch, OrderedQueue, type Owner, settlement } from './ordered-queue.ts'

/** What an owner was given: an id, and its payloads in order. */
export interface Run {
  id: string
  payloads: readonly ScoredPayload[]
}

/** A case of one ordered queue, which ends by reading all of it, before and after the rest is processed. */
export function ordered(
  name: string,
  run: (queue: OrderedQueue, t: Bench) => Promise<void>,
  { shards = 1, ...more }: { shards?: number; shared?: boolean; seconds?: number } = {},
): Case {
  return {
    name,
    ...more,
    async run(t) {
      await t.store.open()
      const before = await t.contents()
      const queue = new OrderedQueue(t, 'o', shards)
      await run(queue, t)
      if (!(await t.store.ordered.assignments(queue.name))) return
      await expectInOrder(queue)
      await windUp(queue)
      // Leases are not an ordered queue's.
      const strange = (await t.contents()).filter((thing) => !before.includes(thing))
      expect(strange, 'left behind').toEqual([])
    },
  }
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** All that the store tells of a queue fits together, and what was counted is what was settled. */
export async function expectInOrder(queue: OrderedQueue): Promise<void> {
  const { store, name } = queue
  const assignments = sure(await store.ordered.assignments(name))
  const numbers = sure(await store.ordered.counts(name, queue.ms))
  const waiting = await queue.all('id', false, 7)
  const inFlight = await store.ordered.inFlight(name)
  const busy = new Set(inFlight.map(({ id }) => id))

  expect(assignments.owners.map(({ shard }) => shard)).toEqual(
    Array.from({ length: Math.max(assignments.shards, assignments.from ?? 0) }, (_, shard) => shard),
  )
  for (const { owner } of assignments.owners) if (owner !== null) expect(assignments.members).toContain(owner)
  expect(numbers.paused).toBe(assignments.paused)

  for (const one of waiting) {
    expect(one.size, `payloads of ${one.id}`).toBeGreaterThan(0)
    expect(one.payloads).toHaveLength(Math.min(one.size, 1000))
    expectSorted(one.payloads)
    if (assignments.from === null) expect(one.shard, `shard of ${one.id}`).toBe(shardOf(one.id, assignments.shards))
  }

  // An id is in flight once, under a token that was given, and each ticket is another one.
  expect(busy.size).toBe(inFlight.length)
  expect(new Set(inFlight.map(({ ticket }) => ticket)).size).toBe(inFlight.length)
  for (const { shard, token } of inFlight) expect(token).toBeLessThanOrEqual(assignments.owners[shard]?.token ?? token)
  for (const owner of new Set(inFlight.map(({ owner }) => owner))) {
    const theirs = inFlight.filter((one) => one.owner === owner)
    expect(byId(await store.ordered.inFlight(name, owner))).toEqual(byId(theirs))
  }

  expectSameOrder(waiting, (one) => [one.id])
  for (const by of ['performIn', 'retryCount'] as const) {
    const sorted = await queue.all(by, false, 7)
    expectSameOrder(sorted, (one) => [one[by], one.id])
    expect(byId(sorted)).toEqual(waiting)
  }

  const ready = waiting.filter(({ id }) => !busy.has(id))
  const fresh = ready.filter(({ retryCount }) => retryCount < 0)
  expect(await queue.sums()).toEqual({
    length: ready.length,
    fresh: fresh.length,
    retries: ready.length - fresh.length,
    busy: inFlight.length,
    processed: queue.processed,
    failed: queue.failed,
  })
  if (assignments.from === null) {
    for (const { shard, ...said } of numbers.shards.filter(({ shard }) => shard < assignments.shards)) {
      const mine = ready.filter((one) => one.shard === shard)
      const earliest = Math.min(...mine.map(({ performIn }) => performIn))
      expect(said.length).toBe(mine.length)
      expect(said.busy).toBe(inFlight.filter((one) => one.shard === shard).length)
      expect(said.owner).toBe(assignments.owners[shard]?.owner)
      expect(said.lag).toBeCloseTo(Math.max(0, mine.length > 0 ? queue.now - earliest : 0), 3)
    }
  }

  const morgue = await store.ordered.morgue(name, 'id', { limit: 10_000 })
  expect(numbers.morgueLength).toBe(morgue.length)
  expect(byId(await store.ordered.morgue(name, 'updatedAt', { limit: 10_000 }))).toEqual(morgue)
  for (const { payloads, deaths } of morgue) {
    expect(payloads.length).toBeGreaterThan(0)
    expect(deaths).toBeGreaterThan(0)
    expectSorted(payloads)
  }

  const some = new Set([...waiting, ...inFlight, ...morgue].slice(0, 30).map(({ id }) => id))
  const read = async (id: string) => {
    const found = await store.ordered.find(name, id)
    const shown = waiting.find((one) => one.id === id) ?? null
    expect(found.waiting && { ...found.waiting, payloads: found.waiting.payloads.slice(0, 1000) }).toEqual(shown)
    expect(found.inFlight).toEqual(inFlight.find((one) => one.id === id) ?? null)
    expect(found.dead).toEqual(morgue.find((one) => one.id === id) ?? null)
  }
  await Promise.all([...some].map(read))
}

function byId<T extends { id: string }>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => byBytes(a.id, b.id))
}

/** By score, then by the bytes; each payload once. */
function expectSorted(payloads: readonly ScoredPayload[]): void {
  const sorted = [...payloads].sort(([a, x], [b, y]) => x - y || byBytes(a, b))
  expect(payloads).toEqual(sorted)
  expect(new Set(payloads.map(([text]) => text)).size).toBe(payloads.length)
}

/** Sorted by numbers, then by the bytes of texts. */
function expectSameOrder(list: OrderedWaiting[], keyOf: (one: OrderedWaiting) => (number | string)[]): void {
  const compare = (a: OrderedWaiting, b: OrderedWaiting) => {
    const other = keyOf(b)
    for (const [i, key] of keyOf(a).entries()) {
      const order = typeof key === 'number' ? key - (other[i] as number) : byBytes(key, other[i] as string)
      if (order !== 0) return order
    }
    return 0
  }
  expect(list.map(({ id }) => id)).toEqual([...list].sort(compare).map(({ id }) => id))
}

/** Everybody who worked dies; an heir works off all that is left, and the queue is deleted. Answers what the heir ran. */
export async function windUp(queue: OrderedQueue): Promise<Run[]> {
  const { store, name } = queue
  await store.ordered.pause(name, false)
  for (const { owner, claimed } of await store.workers.leases()) if (!claimed) await store.workers.claim(owner)
  const before = queue.processed
  while ((await store.ordered.moveShards(name)) > 0);
  const heir = await queue.member()
  await heir.ownAll(1000)
  while ((await store.ordered.moveShards(name)) > 0);
  queue.now = 1e11
  const runs = await workOff(heir)
  expect(queue.processed - before).toBe(runs.length)
  await expectInOrder(queue)
  expect(await queue.sums()).toMatchObject({ length: 0, busy: 0 })

  for (;;) {
    const some = await store.ordered.morgue(name, 'id', { limit: 100 })
    if (some.length === 0) break
    const ids = some.map(({ id }) => id)
    expect(await store.ordered.deleteDead(name, ids)).toBe(ids.length)
  }
  expect(await store.ordered.deleteQueue(name), 'a queue that has a member is not deleted').toBe(false)
  await store.ordered.leave(name, heir.name, queue.ms)
  expect(await store.workers.release(heir.name)).toBe(true)
  expect(await store.ordered.deleteQueue(name)).toBe(true)
  expect(await store.ordered.assignments(name)).toBe(null)
  expect(await store.ordered.counts(name, queue.ms)).toBe(null)
  expect(await store.ordered.queues()).not.toContain(name)
  return runs
}

/** Takes and ends all there is, also of shards that go while it works. */
export async function workOff(owner: Owner, n = 20): Promise<Run[]> {
  const runs: Run[] = []
  let held: HeldBatch[] = []
  for (;;) {
    const asked = [...owner.tokens].map(([shard, token]) => ({ shard, token, n }))
    const settlements = held.map((one) => settlement(one, done))
    const answer = await owner.settleAndFetch({ settlements, fetch: asked })
    expect(answer.settled).toEqual(settlements.map(() => 'ok'))
    const ended = held.length
    held = answer.fetched.flatMap(({ ids }, i) => ids.map((one) => ({ ...one, ...sure(asked[i]) })))
    expectApart(held)
    for (const { id, payloads } of held) {
      expectSorted(payloads)
      runs.push({ id, payloads })
    }
    if (held.length + ended === 0) return runs
  }
}

/** No id twice, and a suspect alone on its shard. */
function expectApart(held: HeldBatch[]): void {
  expect(new Set(held.map(({ id }) => id)).size).toBe(held.length)
  for (const { suspect, shard } of held) {
    if (suspect) expect(held.filter((one) => one.shard === shard)).toHaveLength(1)
  }
}
