import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Splitter } from 'highkiq'
import { expect, test } from 'vitest'
import { shardOf } from '#dist/store/contract.js'
import { bench, gate, storeOfSuite, until } from './bench.ts'
import { frozen, ordered } from './ordered-bench.ts'

/** Ids that fall into a shard. */
function idsOf(shard: number, shards: number, n: number): string[] {
  const ids: string[] = []
  for (let i = 0; ids.length < n; i++) if (shardOf(`${i}`, shards) === shard) ids.push(`${i}`)
  return ids
}

test('[36] shards are shared when a process joins, and return when it leaves; no id runs in two at once', async () => {
  const here = bench()
  const running = new Set<string>()
  const seen: string[] = []
  const handle = async ({ batch }: { batch: Map<string, string[]> }) => {
    for (const [id, payloads] of batch) {
      expect(running.has(id), `${id} runs twice`).toBe(false)
      running.add(id)
      seen.push(...payloads.map((payload) => `${id}/${payload}`))
    }
    await pause(2)
    for (const id of batch.keys()) running.delete(id)
  }
  const options = { shards: 8, batchSize: 2 }
  const { job, empty } = ordered(here, options, handle)
  const other = here.another()
  ordered(other, options, handle)
  const counts = async () => {
    const owners = (await job.stats()).shards.map(({ owner }) => owner)
    return [...new Set(owners)]
      .map((one) => (one === null ? -1 : owners.filter((owner) => owner === one).length))
      .sort()
  }
  const become = async (wanted: number[], seconds: number) => {
    const from = performance.now()
    await until(async () => (await counts()).join() === wanted.join())
    expect(performance.now() - from).toBeLessThan(seconds * 1000)
  }
  let pushing = true
  let pushed = 0
  const producer = (async () => {
    for (; pushing; pushed++) {
      await job.performAsync(Array.from({ length: 40 }, (_, i) => ({ id: i, payload: `${pushed}`, score: pushed })))
      await pause(10)
    }
  })()
  await here.work({ leaseSeconds: 3 })
  await become([8], 3)
  const second = await other.work({ leaseSeconds: 3 })
  await become([4, 4], 3)
  await until(() => seen.length > 100)
  await second.stop()
  await become([8], 3)
  pushing = false
  await producer
  await empty()
  for (let i = 0; i < 40; i++) {
    const mine = seen.filter((one) => one.startsWith(`${i}/`)).map((one) => Number(one.split('/')[1]))
    expect(mine).toEqual(Array.from({ length: pushed }, (_, n) => n))
  }
  expect([...here.errors, ...other.errors]).toEqual([])
})

test('[36] a joining process acquires a shard only after the running batch has ended', async () => {
  const here = bench()
  const { opened, open } = gate()
  const { job, calls } = ordered(here, { shards: 2 }, () => opened)
  await here.work({ leaseSeconds: 1 })
  await job.performAsync(
    idsOf(0, 2, 1)
      .concat(idsOf(1, 2, 1))
      .map((id) => ({ id, payload: 'v' })),
  )
  await calls.atLeast(2)
  const other = here.another()
  const theirs = ordered(other, { shards: 2 })
  await other.work({ leaseSeconds: 1 })
  await until(async () => (await here.hq.store.ordered.assignments('Sync'))?.members.length === 2)
  // Longer than it takes to look who is there, and than a lease.
  await pause(1200)
  expect(theirs.calls.all).toEqual([])
  expect(new Set((await job.stats()).shards.map(({ owner }) => owner)).size).toBe(1)
  open()
  await until(async () => new Set((await job.stats()).shards.map(({ owner }) => owner)).size === 2)
  expect(theirs.calls.all).toEqual([])
  expect(await job.stats()).toMatchObject({ processed: 2, failed: 0 })
})

test('[37] an idle worker starts pushed and due ids at once', async () => {
  const here = bench()
  const began: number[] = []
  const { job, calls } = ordered(here, {}, () => began.push(Date.now()))
  await here.work({ pollInterval: 1 })
  await until(async () => (await job.stats()).shards[0]?.owner)
  const waits: number[] = []
  for (let n = 1; n <= 8; n++) {
    const pushed = Date.now()
    await job.performAsync({ id: n })
    await calls.atLeast(n)
    waits.push((began.at(-1) as number) - pushed)
  }
  expect(Math.max(...waits)).toBeLessThan(2000)
  // The machine may be busy; the way is short.
  expect(Math.min(...waits)).toBeLessThanOrEqual(100)
  const offs: number[] = []
  for (let n = 9; n <= 12; n++) {
    const due = Date.now() + 150
    await job.performAsync({ id: n, performAt: new Date(due) })
    await calls.atLeast(n)
    offs.push((began.at(-1) as number) - due)
  }
  expect(Math.min(...offs)).toBeGreaterThanOrEqual(-50)
  // The machine may be busy. Who asks once a second only is this early once in four times.
  expect(offs.sort((a, b) => a - b)[1]).toBeLessThanOrEqual(250)
  expect(offs.at(-1)).toBeLessThan(2000)
})

test.runIf(storeOfSuite() === 'Redis')('[37] an idle ordered queue sends few commands to the server', async () => {
  const seconds = 4
  const here = bench()
  ordered(here, { shards: 5 })
  await here.work({ pollInterval: 1 })
  await pause(1500)
  let heard = ''
  const socket = connect(Number(new URL(here.url).port), '127.0.0.1', () => socket.write('MONITOR\r\n'))
  socket.on('data', (data) => {
    heard += data
  })
  await pause(seconds * 1000)
  socket.destroy()
  // What scripts do is not asked for.
  const asked = heard.split('\n').filter((line) => /^\+[\d.]+ \[\d+ (?!lua).*:ordered/.test(line))
  const commands = asked.map((line) => line.slice(0, 100)).join('\n')
  // A turn each second and a half, a wait each ten, and now and then who is there. One more may fall into the time.
  expect(asked.length, commands).toBeLessThanOrEqual(seconds + 1)
})

test('[37] the shard whose first id has waited longest is first; a shard without due ids is skipped', async () => {
  const { here, job, calls, idle } = frozen({ shards: 3, batchSize: 1 })
  const [a, b, c] = [0, 1, 2].map((shard) => idsOf(shard, 3, 1)[0] as string)
  await job.performAsync([
    { id: a as string, payload: 'v', performAt: new Date(995_000) },
    { id: b as string, payload: 'v', performAt: new Date(980_000) },
    { id: c as string, payload: 'v', performAt: new Date(1001_000) },
  ])
  expect(await job.stats()).toMatchObject({ lag: 20 })
  expect((await job.stats()).shards.map(({ lag }) => lag)).toEqual([5, 20, 0])
  // Not before it has asked for something of all of them.
  await job.pause()
  const { store } = here.hq
  const turn = store.ordered.settleAndFetch.bind(store.ordered)
  const asked = new Set<number>()
  store.ordered.settleAndFetch = async (...about) => {
    const answer = await turn(...about)
    for (const { shard } of about[2].fetch) asked.add(shard)
    return answer
  }
  await here.work({ orderedConcurrency: 1 })
  await until(() => asked.size === 3)
  await job.resume()
  await calls.atLeast(2)
  await idle()
  expect(calls.all).toEqual([`${b}[v]`, `${a}[v]`])
  expect(await job.stats()).toMatchObject({ lag: 0, length: 1 })
})

test('[38] a long backlog of one shard does not delay another', async () => {
  const { here, job, calls } = frozen({ shards: 2, batchSize: 1 })
  const many = idsOf(0, 2, 3000)
  const [one] = idsOf(1, 2, 1) as [string]
  await job.performAsync(many.map((id) => ({ id, payload: 'v', performIn: 0 })))
  await job.performAsync({ id: one, payload: 'v', performAt: new Date(999_000) })
  await here.work({ orderedConcurrency: 1 })
  await calls.atLeast(4)
  expect(calls.all.indexOf(`${one}[v]`)).toBeLessThanOrEqual(2)
})

test('[38] a shard that always fails does not delay another', async () => {
  const [bad] = idsOf(0, 2, 1) as [string]
  const good = idsOf(1, 2, 5)
  const { here, job, calls } = frozen(
    { shards: 2, batchSize: 1, maxRetries: 1e6, retryIn: () => -900 },
    ({ batch }) => {
      if (batch.has(bad)) throw new Error('always')
    },
  )
  await job.performAsync({ id: bad, payload: 'v', performIn: 0 })
  await here.work({ orderedConcurrency: 1 })
  await calls.atLeast(3)
  const before = calls.all.length
  await job.performAsync(good.map((id) => ({ id, payload: 'v' })))
  await until(() => good.every((id) => calls.all.includes(`${id}[v]`)))
  const between = calls.all.slice(before).filter((call) => call.startsWith(`${bad}[`)).length
  expect(between).toBeLessThan(60)
})

test('[38] a shard whose payloads fill an answer does not block the others', async () => {
  const here = bench()
  const order: number[] = []
  const { job, empty } = ordered(here, { shards: 2 }, ({ ctx }) => order.push(ctx.ordered.shard))
  const big = 'x'.repeat(600_000)
  for (const id of [...idsOf(0, 2, 8), ...idsOf(1, 2, 8)]) await job.performAsync({ id, payload: big })
  await here.work({ pollInterval: 1 })
  await empty()
  expect(order.indexOf(1), `shards ran as ${order}`).toBeLessThan(5)
  expect(order.indexOf(0), `shards ran as ${order}`).toBeLessThan(5)
})

test('a shard that no splitter function chooses stays without an owner; a shard of a missing node is acquired', async () => {
  const owners = async (splitter: Splitter) => {
    const here = bench()
    const { job } = ordered(here, { shards: 2 }, () => {})
    let reads = 0
    let isAsked = false
    const assignments = here.hq.store.ordered.assignments.bind(here.hq.store.ordered)
    here.hq.store.ordered.assignments = async (queue) => {
      if (!isAsked) reads++
      return assignments(queue)
    }
    const owned = async () => {
      isAsked = true
      const { shards } = await job.stats()
      isAsked = false
      return shards.map(({ owner }) => owner !== null)
    }
    await here.work({ leaseSeconds: 1, splitter })
    await until(async () => (await owned()).some(Boolean))
    reads = 0
    // It looks thrice a lease: this is more than two of them.
    await until(async () => reads >= 10 || (await owned()).every(Boolean))
    return owned()
  }
  expect(await owners((all) => all.filter(({ shard }) => shard === 1))).toEqual([false, true])
  expect(await owners({ nodes: 2, node: 1 })).toEqual([true, true])
})
