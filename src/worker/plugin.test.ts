import { expect, test } from 'vitest'
import type { JobContext } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'
import { type Concern, type Outcome, type Plugin, Plugins } from './plugin.ts'

const DONE: Outcome = { kind: 'done', result: undefined }
const CANCELLED: Outcome = { kind: 'cancelled', begun: true }
const plainContext = { isExtended: false } as JobContext
const extended = { isExtended: true } as JobContext
const JOB: Payload = { class: 'J', args: [], queue: 'q', jid: 'j' }

/** A job, an outcome and a context with this concern, and with no other. */
const CASES: Record<Concern, [payload: Payload, outcome: Outcome, ctx: JobContext | undefined]> = {
  hk_task: [{ ...JOB, hk_task: 't' }, DONE, plainContext],
  hk_cron: [{ ...JOB, hk_cron: 'nightly' }, DONE, plainContext],
  hk_lock: [{ ...JOB, hk_lock: 'l' }, DONE, plainContext],
  hk_unique: [{ ...JOB, hk_unique: 'success:k' }, DONE, plainContext],
  bid: [{ ...JOB, bid: '0123456789abcdef' }, DONE, plainContext],
  cancelled: [JOB, CANCELLED, plainContext],
  'no-attempt': [JOB, DONE, undefined],
  'own-context': [JOB, DONE, extended],
}
const CONCERNS = Object.keys(CASES) as Concern[]

function add(concerns?: readonly Concern[]): { plugins: Plugins; plugin: Plugin } {
  const plugins = new Plugins()
  const plugin = { ...(concerns ? { concerns } : {}), effects: () => undefined }
  plugins.add(plugin)
  return { plugins, plugin }
}

test.each(CONCERNS)('a plugin that %s concerns is asked about such a job, and about no other', (concern) => {
  const { plugins, plugin } = add([concern])
  for (const other of CONCERNS) {
    const { effects } = plugins.concerned(...CASES[other])
    expect([other, effects]).toEqual([other, other === concern ? [plugin] : []])
  }
  expect(plugins.concerned(JOB, DONE, plainContext).effects).toEqual([])
})

test('a plugin that names no concerns is asked about every job', () => {
  const { plugins, plugin } = add()
  const jobs: Parameters<Plugins['concerned']>[] = [...Object.values(CASES), [JOB]]
  for (const about of jobs) {
    expect(plugins.concerned(...about).effects).toEqual([plugin])
  }
})

test('plugins are asked in the order in which they were added, also those that are added later', () => {
  const { plugins, plugin: first } = add(['bid', 'hk_task'])
  const about = CASES.hk_task
  expect(plugins.concerned(...about).effects).toEqual([first])
  const [second, third] = [{ effects: () => undefined }, { concerns: ['hk_task'], returned: () => undefined } as const]
  plugins.add(second)
  plugins.add(third)
  expect(plugins.concerned(...about).effects).toEqual([first, second])
  expect(plugins.concerned(...about).returned).toEqual([third])
})
