import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../store/contract.ts'
import { openStore } from '../store/open.ts'
import { Cancellations } from './cancellations.ts'
import { ControlVersion } from './control-version.ts'
import { SharedLimits } from './shared-limits.ts'

const NOW = 1_700_000_000_000

/** A worker's view of a store whose limits can be read only while `state.isReadable`. */
async function setUp(mostCancellations?: number) {
  const store = await openStore('sqlite::memory:')
  onTestFinished(() => store.close())
  const state = { isReadable: true }
  const limits = Object.assign(Object.create(store.limits), {
    allSet: () => (state.isReadable ? store.limits.allSet() : Promise.reject(new Error('no answer'))),
  })
  const errors: unknown[] = []
  const shared = new SharedLimits([], (error) => errors.push((error as Error).message))
  const failing: Store = Object.assign(Object.create(store), { limits })
  const cancellations = new Cancellations(failing, mostCancellations)
  return { store, state, errors, shared, cancellations, control: new ControlVersion(failing, cancellations, shared) }
}

test("limits that can't be read block no cancellation, are reported once, and are read later", async () => {
  const { store, state, errors, shared, cancellations, control } = await setUp()
  state.isReadable = false
  await store.limits.change('queue:mail', { max: 1 })
  for (const jid of ['a', 'b']) {
    await store.cancellations.request(jid, NOW)
    await control.refresh()
    expect([cancellations.has(jid), control.isBehind, shared.areInUse]).toEqual([true, true, false])
  }
  expect(errors).toEqual(['no answer'])
  state.isReadable = true
  await control.refresh()
  expect([control.isBehind, shared.areInUse]).toEqual([false, true])
})

test('a worker that knows many cancellations knows them also while it reads those that remain', async () => {
  const { store, cancellations, control } = await setUp(2)
  await store.cancellations.request(['a', 'b', 'c'], NOW)
  await control.refresh()
  await store.cancellations.withdraw('a', NOW)
  await store.cancellations.request('d', NOW)
  const reading = control.refresh()
  expect(['a', 'b', 'c'].map((jid) => cancellations.has(jid))).toEqual([true, true, true])
  await reading
  expect(['a', 'b', 'c', 'd'].map((jid) => cancellations.has(jid))).toEqual([false, true, true, true])
  expect(control.isBehind).toBe(false)
  for (const jid of ['b', 'c', 'd']) await store.cancellations.withdraw(jid, NOW)
  await store.cancellations.request('e', NOW)
  await control.refresh()
  expect(['b', 'c', 'd', 'e'].map((jid) => cancellations.has(jid))).toEqual([false, false, false, true])
})

test('only a limit of all jobs, of a queue or of a class makes jobs ask for room', async () => {
  const { store, shared, control } = await setUp()
  for (const [name, areInUse] of [
    ['shared:stripe', false],
    ['job:A 2', false],
    ['tenant:x', false],
    ['job:A', true],
    ['queue:mail', true],
    ['app:all%20jobs', true],
  ] as const) {
    await store.limits.change(name, { max: 1 })
    await control.refresh()
    expect([name, shared.areInUse]).toEqual([name, areInUse])
    await store.limits.reset(name)
  }
})
