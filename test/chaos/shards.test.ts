import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { killWorkers, mostRepeated } from './kill-workers.ts'

// The long form: HIGHKIQ_KILL_JOBS=20000
const jobs = Number(process.env.HIGHKIQ_KILL_JOBS ?? 4000)

onRedis('two shards', () => {
  test('20 workers killed while jobs run: nothing lost, few repeated, every count exact', {
    timeout: 300_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const server = await startServer({})
    onTestFinished(() => server.remove())
    const url = `${server.url(0)} ${server.url(1)}`
    const outcome = await killWorkers({ url, folder, jobs, random: Math.random })
    expect(outcome.complaints).toEqual([])
    expect(outcome.faults).toBe(20)
    expect(outcome.repeats).toBeLessThanOrEqual(mostRepeated(outcome))
  })

  test('shards in another order, or another number of them, are refused', async () => {
    const server = await startServer({})
    onTestFinished(() => server.remove())
    const open = async (...shards: string[]) => {
      const store = openStore(shards.join(' '))
      await store.open().finally(() => store.close())
    }
    const [a, b, c] = [server.url(0), server.url(1), server.url(2)]
    await open(a, b)
    await open(a, b)
    await expect(open(b, a)).rejects.toThrow('is shard 2 of 2, not 1 of 2')
    await expect(open(a, b, c)).rejects.toThrow('is shard 1 of 2, not 1 of 3')
    await expect(open(a, a)).rejects.toThrow(`${a} is named twice`)
  })
})
