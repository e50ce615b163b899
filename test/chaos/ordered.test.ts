import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { type OrderedStormOptions, orderedStorm } from './ordered-storm.ts'

// The long form: HIGHKIQ_ORDERED_PUSHES=50000 HIGHKIQ_ORDERED_FAULTS=60 HIGHKIQ_ORDERED_PROCESSES=6
const pushes = Number(process.env.HIGHKIQ_ORDERED_PUSHES ?? 4000)
const faults = Number(process.env.HIGHKIQ_ORDERED_FAULTS ?? 6)
const processes = Number(process.env.HIGHKIQ_ORDERED_PROCESSES ?? 3)
const timeout = 120_000 + pushes * 10

async function storm(more: Pick<OrderedStormOptions, 'url' | 'folder' | 'restart'>): Promise<void> {
  const seed = Date.now()
  const ids = Math.ceil(pushes / 100)
  const outcome = await orderedStorm({ pushes, faults, processes, ids, random: chance(seed), ...more })
  const about = `seed ${seed}, ${outcome.calls} calls, ${JSON.stringify(outcome.faults)}`
  if (process.env.HIGHKIQ_ORDERED_PUSHES) console.log(about)
  expect(outcome.complaints, about).toEqual([])
}

test('processes are killed, frozen and changed, and the shards with them: no id runs twice at a time, nothing is lost', {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  await storm({ url: `sqlite:${folder}/chaos.db`, folder })
  rmSync(folder, { recursive: true, force: true })
})

onRedis('an ordered queue on Redis', () => {
  test('the server is killed too', { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
    const server = await startServer({ appendonly: true, appendfsync: 'always' })
    try {
      const restart = async () => {
        await server.kill()
        await server.start()
      }
      await storm({ url: server.url(), folder, restart })
      rmSync(folder, { recursive: true, force: true })
    } finally {
      await server.remove()
    }
  })
})
