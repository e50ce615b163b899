import pg from 'pg'
import { expect, test } from 'vitest'
import { bench, Collector, gate, storeOfSuite, until } from './bench.ts'

test('a running worker gets more slots, and then fewer: running jobs go on, and no more start than there are slots', async () => {
  const t = bench()
  const began = new Collector<number>()
  const gates = Array.from({ length: 12 }, () => gate())
  let running = 0
  t.hq.job('J', async (_, n: number) => {
    running++
    began.add(n)
    await gates[n]?.opened
    running--
  })
  for (let n = 0; n < 12; n++) await t.hq.push({ class: 'J', args: [n] })
  const worker = await t.work({ concurrency: 1 })
  await began.atLeast(1)
  expect(running).toBe(1)
  await worker.set({ concurrency: 6 })
  await began.atLeast(6)
  expect([running, worker.concurrency]).toEqual([6, 6])
  const shown = async () => (await t.hq.store.workers.processes()).map(({ concurrency }) => concurrency)
  expect(await shown()).toEqual([6])
  await worker.set({ concurrency: 2 })
  expect([running, await shown()]).toEqual([6, [2]])
  for (let n = 0; n < 4; n++) gates[n]?.open()
  await until(() => running === 2)
  gates[4]?.open()
  await began.atLeast(7)
  expect(running).toBe(2)
  for (const { open } of gates) open()
  await began.atLeast(12)
  await t.settled()
  expect([...began.all].sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n))
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 12, failed: 0 })
})

test('jobs that end at once run each once while the number of slots changes again and again', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('J', async (_, n: number) => ran.add(n))
  const rows = Array.from({ length: 2000 }, (_, n) => [n])
  await t.hq.pushBulk({ class: 'J', args: rows })
  const worker = await t.work({ concurrency: 3 })
  for (let n = 0; ran.all.length < 2000; n++) await worker.set({ concurrency: 1 + (n % 20) })
  await t.settled()
  expect(ran.all).toHaveLength(2000)
  expect(new Set(ran.all).size).toBe(2000)
})

test('a capsule is resized by its name, before the start, too; wrong values are refused', async () => {
  const t = bench()
  const worker = t.hq.worker({ concurrency: 2, capsules: { mail: { concurrency: 3, queues: ['mail'] } } })
  await worker.set({ concurrency: 7, capsule: 'mail' })
  expect(worker.concurrency).toBe(9)
  await expect(worker.set({ concurrency: 1, capsule: 'post' })).rejects.toThrow(
    'worker.set: there is no capsule "post"; there are default, mail',
  )
  await expect(worker.set({ concurrency: 0 })).rejects.toThrow(
    'worker.set: concurrency must be a whole number above 0 (got 0)',
  )
  await expect(worker.set({} as { concurrency: number })).rejects.toThrow('worker.set: concurrency is missing')
  await expect(worker.set({ queues: ['a'] } as never)).rejects.toThrow('there is no option queues')
  await worker.start()
  const [process] = await t.hq.store.workers.processes()
  expect(JSON.parse(process?.info ?? '{}')).toMatchObject({ concurrency: 9, capsules: { mail: { concurrency: 7 } } })
  await worker.stop()
})

test('a signal through the store changes the concurrency of a running worker; a wrong one changes nothing', async () => {
  const t = bench()
  const began = new Collector<number>()
  const doors = gate()
  t.hq.job('J', async (_, n: number) => {
    began.add(n)
    await doors.opened
  })
  const reported = new Collector<string>()
  t.hq.onError((error) => reported.add((error as Error).message))
  for (let n = 0; n < 3; n++) await t.hq.push({ class: 'J', args: [n] })
  const worker = await t.work({ concurrency: 1, capsules: { mail: { concurrency: 1, queues: ['mail'] } } })
  await began.atLeast(1)
  const { workers } = t.another().hq.store
  await workers.signal(worker.identity, 'CONCURRENCY 3 default')
  // Its next beat comes with this.
  await worker.set({ concurrency: 2, capsule: 'mail' })
  await began.atLeast(3)
  const process = () => t.hq.processes().find(worker.identity)
  await until(async () => (await t.hq.processes().totals()).concurrency === 5)
  expect((await process())?.capsules).toMatchObject({ default: { concurrency: 3 }, mail: { concurrency: 2 } })

  await workers.signal(worker.identity, 'CONCURRENCY 9 post')
  await worker.set({ concurrency: 1, capsule: 'mail' })
  expect(await reported.atLeast(1)).toEqual(['worker.set: there is no capsule "post"; there are default, mail'])
  expect(worker.concurrency).toBe(4)
  const logged = () => t.log.lines.map(({ message }) => message).join()
  expect(logged()).not.toContain('9 jobs')

  if (storeOfSuite() === 'PostgreSQL') await allowUnknownSignals(t.url)
  await workers.signal(worker.identity, 'CONCURRENCY 1x default' as never)
  await worker.set({ concurrency: 2, capsule: 'mail' })
  await until(() => logged().includes('ignored an unknown signal'))
  expect(logged()).not.toContain('stopping')
  doors.open()
  await t.settled()
})

/** Changes the schema as a newer version may, which has signals of its own. PostgreSQL's schema of this version refuses them. */
async function allowUnknownSignals(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('ALTER TABLE highkiq.signal DROP CONSTRAINT signal_name_check')
  await client.end()
}
