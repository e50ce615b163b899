import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench, Child, until } from './bench.ts'
import { ordered } from './ordered-bench.ts'

const CHILD = 'ordered-child.js'

test('[28] batches of a killed process run elsewhere, with payloads that were pushed meanwhile', async () => {
  const here = bench()
  const { job, calls, empty } = ordered(here)
  await job.performAsync({ id: 1, payload: 'wait', score: 1 })
  const child = new Child(here.url, {}, CHILD)
  await child.waitFor('began')
  await job.performAsync({ id: 1, payload: 'v2', score: 2 })
  child.kill('SIGKILL')
  await child.exited
  await here.work({ leaseSeconds: 1 })
  await empty()
  expect(calls.all).toEqual(['1[wait,v2]'])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 0, morgueLength: 0 })
})

test('[29] a batch that ended unsettled in a killed process runs again and counts once', async () => {
  const here = bench()
  const { job, calls, empty } = ordered(here)
  await job.performAsync({ id: 1, payload: 'die', score: 1 })
  const child = new Child(here.url, {}, CHILD)
  await child.waitFor('ended')
  await child.exited
  await here.work({ leaseSeconds: 1 })
  await empty()
  expect(calls.all).toEqual(['1[die]'])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 0, morgueLength: 0 })
})

test('[32] an id whose process crashes three times goes to the morgue, and others run', async () => {
  const here = bench()
  const { job, calls, dead, empty } = ordered(here)
  await job.performAsync([
    { id: 1, payload: 'die', score: 1 },
    { id: 1, payload: 'more', score: 2 },
  ])
  const fences: number[] = []
  for (let crash = 1; crash <= 3; crash++) {
    const child = new Child(here.url, {}, CHILD)
    const [began] = await child.waitFor('began')
    expect(began).toMatchObject({ batch: { 1: ['die', 'more'] } })
    fences.push(began?.fence as number)
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
  }
  // Each owner's is the next one; the first is none that was ever given.
  const [first = 0] = fences
  expect(fences).toEqual([first, first + 1, first + 2])
  expect(first).toBeGreaterThan(0)
  await job.performAsync({ id: 2, payload: 'v' })
  await here.work({ leaseSeconds: 1 })
  await empty()
  expect(calls.all).toEqual(['2[v]'])
  expect(await dead()).toMatchObject([expect.stringMatching(/^1\{[\d.]+,\{die:1,more:2\},"crashed 3 times"\}$/)])
})

test('[35] in a process that slept past its lease the signal aborts, and it settles nothing', async () => {
  const here = bench()
  const { job, calls, waiting, empty } = ordered(here)
  await job.performAsync({ id: 1, payload: 'wait', score: 1 })
  const child = new Child(here.url, {}, CHILD)
  const [began] = await child.waitFor('began')
  await child.freeze(here)
  const fences: number[] = []
  const other = here.another()
  const theirs = ordered(other, {}, ({ ctx }) => fences.push(ctx.fence))
  await other.work({ leaseSeconds: 1 })
  await empty()
  expect(theirs.calls.all).toEqual(['1[wait]'])
  expect(fences[0]).toBeGreaterThan(began?.fence as number)
  child.kill('SIGCONT')
  expect(await child.waitFor('aborted')).toMatchObject([{ code: 'LEASE_LOST' }])
  // It goes on under a new lease.
  await job.performAsync({ id: 2, payload: 'v', score: 2 })
  await empty()
  expect(await waiting()).toEqual([])
  expect(calls.all).toEqual([])
  expect(await job.stats()).toMatchObject({ processed: 2, failed: 0, morgueLength: 0 })
})

test('a process that is frozen while it starts batches starts none that others have run', async () => {
  const here = bench()
  const options = { shards: 8, batchSize: 1 }
  const { job, empty } = ordered(here, options)
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-ordered-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'go')
  const payload = `block until ${file}`
  await job.performAsync([...Array(40).keys()].map((id) => ({ id, payload })))
  // The first of eight batches does not return, and the others are next.
  const child = new Child(here.url, { ordered: options, orderedConcurrency: 8 }, CHILD)
  await child.waitFor('began')
  await child.freeze(here)
  const other = here.another()
  const theirs = ordered(other, options)
  const worker = await other.work({ leaseSeconds: 1 })
  await empty()
  expect(theirs.calls.all).toHaveLength(40)
  await worker.stop()
  writeFileSync(file, '')
  child.kill('SIGCONT')
  await child.waitFor('ended')
  await job.performAsync({ id: 100, payload: 'v' })
  await empty()
  expect(child.all('began').map(({ batch }) => Object.keys(batch as object)[0])).toEqual([expect.any(String), '100'])
  expect(await job.stats()).toMatchObject({ processed: 41, failed: 0, morgueLength: 0 })
})

test('[31] repeated kills lose no payload, and each id runs in order', async () => {
  const here = bench()
  const options = { shards: 3, batchSize: 4, maxCrashes: 1000, retryIn: () => 0 }
  const { job, empty } = ordered(here, options)
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const began: [string, string][] = []
  for (let round = 0; round < 4; round++) {
    const child = new Child(here.url, { ordered: { ...options, retryIn: undefined } }, CHILD)
    await job.performAsync(ids.map((id) => ({ id, payload: `${round}` })))
    await child.waitFor('ended', 1 + round)
    child.kill('SIGKILL')
    await child.exited
    for (const { batch } of child.all('began')) {
      for (const [id, payloads] of Object.entries(batch as Record<string, string[]>)) {
        for (const payload of payloads) began.push([id, payload])
      }
    }
  }
  const other = here.another()
  const last = ordered(other, options)
  await other.work({ leaseSeconds: 1 })
  await empty()
  for (const call of last.calls.all) {
    for (const [, id = '', list = ''] of call.matchAll(/(\w)\[([^\]]*)\]/g)) {
      for (const payload of list.split(',')) began.push([id, payload])
    }
  }
  for (const id of ids) {
    const seen = began.filter(([one]) => one === id).map(([, payload]) => Number(payload))
    // A run that was cut off is repeated from its first payload on.
    expect([...new Set(seen)]).toEqual([0, 1, 2, 3])
  }
  await until(async () => (await job.stats()).morgueLength === 0)
})
