import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { newSchema, sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { limitsUnder } from './limits-property.ts'
import { limitsStorm } from './limits-storm.ts'
import { FIRST_SEED, SEEDS, stormSuite } from './seeds.ts'

const timeout = 60_000 + SEEDS * 3000
// One of these seeds covers as much as several of a storm.
const seeds = Array.from({ length: Math.ceil(SEEDS / 4) }, (_, n) => FIRST_SEED + n)
const TITLE = 'no window, rate or number of slots is exceeded while owners ask and die'

stormSuite({
  name: 'limits',
  title: 'no limit is exceeded, and all jobs run, while processes are killed and clocks are set',
  program: 'limit-worker.js',
  run: limitsStorm,
})

test(TITLE, { timeout }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-limits-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const seed of seeds) {
    expect(await limitsUnder(`sqlite:${folder}/${seed}.db`, seed)).toEqual([])
  }
})

onRedis('the steps of limits on Redis', () => {
  test(TITLE, { timeout }, async () => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    for (const seed of seeds) {
      await server.ask('FLUSHALL')
      expect(await limitsUnder(server.url(), seed)).toEqual([])
    }
  })
})

onPostgres('the steps of limits on PostgreSQL', () => {
  test(TITLE, { timeout }, async () => {
    const server = await sharedPostgres()
    for (const seed of seeds) {
      const schema = newSchema()
      expect(await limitsUnder(server.url(`?schema=${schema}`), seed)).toEqual([])
      await server.query(`DROP SCHEMA ${schema} CASCADE`)
    }
  })
})

test('10,000 jobs of one customer do not hold up another one', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const { opened, open } = gate()
  const limit = { concurrency: 2, by: (customer: string) => customer }
  t.hq.job('Export', { limit }, async (_, customer: string) => {
    ran.add(customer)
    if (customer === 'large') await opened
  })
  const args = Array.from({ length: 10_000 }, () => ['large'])
  await t.hq.pushBulk({ class: 'Export', args: [...args, ['small']] })
  await t.work({ concurrency: 10 })
  await until(() => ran.all.includes('small'))
  expect([...ran.all].sort()).toEqual(['large', 'large', 'small'])
  expect((await t.hq.limits.list())[0]).toMatchObject({ name: 'Export', key: 'large', used: 2 })
  open()
  await ran.atLeast(20)
}, 180_000)
