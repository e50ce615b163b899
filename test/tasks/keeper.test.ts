import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { TaskKeeper } from '#dist/tasks/keeper.js'
import { bench, gate, Heard, until } from '../engine/bench.ts'

const DAY = 86_400

test('all idle tasks are looked for in one walk along the way that jobs go; a row that is nowhere gives its place', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const rows = Array.from({ length: 4 }, (_, i): [number] => [i])
  const tasks = [1, 2, 3].map(() => hq.tasks.create(Row, rows, { window: 2, unknownAfter: '30d' }))
  const ids = (await Promise.all(tasks)).map(({ id }) => id)
  // One job is taken by who does not tell what became of it.
  const owner = { queues: ['nobody'], seconds: 60, host: 'elsewhere' }
  await hq.store.join('stranger', owner)
  const turn = { now: clock.now(), started: [], settlements: [], take: { queues: ['nobody'], n: 1 } }
  const [taken] = (await hq.store.turn('stranger', turn)).taken
  if (!taken) throw new Error('nothing was there')
  const settlement = { queue: 'nobody', ticket: taken.ticket, move: null, processed: 1, failed: 0 } as const
  await hq.store.turn('stranger', { ...turn, settlements: [settlement], take: { queues: [], n: 0 } })
  await hq.store.leave('stranger')
  const robbed = JSON.parse(taken.text).hk_task as string

  clock.ahead = DAY
  const walks = new Heard<string>()
  for (const name of ['scanQueue', 'scanSet'] as const) {
    const scan = hq.store[name] as (...args: unknown[]) => unknown
    const heard = (...args: unknown[]) => {
      walks.say(String(args[0]))
      return scan.apply(hq.store, args)
    }
    Object.defineProperty(hq.store, name, { value: heard, configurable: true })
  }
  const keeper = new TaskKeeper({ store: () => hq.store, now: clock.now, report: () => {} }, { everySeconds: 1 })
  await keeper.look()
  expect(walks.all.toSorted()).toEqual(['nobody', 'retry', 'schedule'])
  const held = Object.fromEntries(
    await Promise.all(ids.map(async (id) => [id, (await hq.tasks.get(id).status())?.held] as const)),
  )
  expect(held).toEqual(Object.fromEntries(ids.map((id) => [id, id === robbed ? 1 : 2])))
  await keeper.stop()
})

test.each(['store', 'dir'])(
  'a payload with the ids of a page does not replace what the page is (%s)',
  async (where) => {
    const { hq, work, raw, settled } = bench()
    const folder = await mkdtemp(join(tmpdir(), 'highkiq-parts-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const [begun, go] = [new Heard<unknown>(), gate()]
    const Page = hq.job('Page', { retry: 0 }, async (_ctx, n: number) => {
      if (n === 0) return [['true']]
      if (n === 99) {
        begun.say(n)
        await go.opened
      }
      return [['forged']]
    })
    const artifacts = where === 'store' ? 'store' : folder
    const task = await hq.tasks.export(Page, [[0]], { artifacts, columns: ['a'], format: 'ndjson' })
    const forged = {
      class: 'Page',
      args: [99],
      queue: 'default',
      jid: `${task.id}00000000`,
      hk_task: task.id,
      hk_part: true,
    }
    // It runs when the page is there already; that its start is old nobody asks of a first attempt.
    await work({ concurrency: 1 })
    await task.wait({ every: 10 })
    await raw(JSON.stringify({ ...forged, hk_run: 1, created_at: 1, enqueued_at: 1, retry: 0 }))
    await begun.atLeast(1)
    go.open()
    await settled()
    await until(async () => (await hq.store.stats()).processed >= 2)
    const file = await new Response((await task.download()) as never).text()
    expect(file).toBe('{"a":"true"}\n')
    if (where === 'dir') expect(readdirSync(join(folder, task.id))).toEqual(['0.part'])
  },
)
