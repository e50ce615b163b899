import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../store/contract.ts'
import { openStore } from '../store/open.ts'
import { Cancellations } from './cancellations.ts'
import { ControlVersion } from './control-version.ts'
import { SharedLimits } from './shared-limits.ts'

const NOW = 1_700_000_000_000

/** A worker's view of a store whose limits can be read only while `state.isReadable`. */
async function setUp() {
  const store = await openStore('sqlite::memory:')
  onTestFinished(() => store.close())
  const state = { isReadable: true }
  const limits = Object.assign(Object.create(store.limits), {
    allSet: () => (state.isReadable ? store.limits.allSet() : Promise.reject(new Error('no answer'))),
  })
  const errors: unknown[] = []
  const shared = new SharedLimits([], (error) => errors.push((error as Error).message))
  const failing: Store = Object.assign(Object.create(store), { limits })
  const cancellations = new Cancellations(failing)
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
