import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../engine/bench.ts'

const KEYS = 10_000

test('a key of a rate costs less than 200 bytes, and vanishes when it is idle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'limits.db')
  const opened = () => new Highkiq({ url: `sqlite:${path}` })
  let hq = opened()
  await hq.store.workers.join('A', { queues: ['q'], seconds: 600, host: 'here\n1\n1' })
  await hq.close()
  const before = statSync(path).size
  hq = opened()
  await acquireKeys(hq, 20_000)
  await hq.close()
  const bytes = (statSync(path).size - before) / KEYS
  expect(bytes).toBeLessThan(200)
  hq = opened()
  onTestFinished(() => hq.close())
  await until(async () => {
    await hq.store.limits.due(1)
    return (await rates(hq)) === 0
  })
})

async function acquireKeys({ store }: Highkiq, per: number): Promise<void> {
  for (let from = 0; from < KEYS; from += 500) {
    const requests = Array.from({ length: 500 }, (_, i) => {
      const name = `Export:customer-${from + i}`
      return { ticket: `${from + i}`, limits: [{ name, max: 0, count: 1, per, burst: 1, window: 'smooth' as const }] }
    })
    await store.limits.acquire('A', requests)
  }
}

async function rates({ store }: Highkiq): Promise<number> {
  let n = 0
  await store.jobs.transaction?.(async (connection) => {
    n = (connection.prepare('SELECT count(*) AS n FROM hk_job_rate').get() as { n: number }).n
    return []
  }, 0)
  return n
}
