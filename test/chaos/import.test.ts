import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { type ImportStormOptions, importStorm } from './import-storm.ts'

// The long form: HIGHKIQ_IMPORT_ROWS=50000 HIGHKIQ_IMPORT_KILLS=60
const rows = Number(process.env.HIGHKIQ_IMPORT_ROWS ?? 4000)
const kills = Number(process.env.HIGHKIQ_IMPORT_KILLS ?? 8)
const timeout = 120_000 + rows * 10

async function storm(more: Pick<ImportStormOptions, 'url' | 'folder' | 'restart'>): Promise<void> {
  const outcome = await importStorm({ rows, kills, random: chance(Date.now()), ...more })
  expect(outcome.complaints, JSON.stringify(outcome.kills)).toEqual([])
}

test('importer and workers are killed during an import on SQLite: every row has its one event', {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  try {
    await storm({ url: `sqlite:${folder}/chaos.db`, folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

onRedis('an import on Redis', () => {
  test('the server is killed too, and every row has its one event', { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
    const server = await startServer({ appendonly: true, appendfsync: 'always' })
    try {
      const restart = async () => {
        await server.kill()
        await server.start()
      }
      await storm({ url: server.url(), folder, restart })
    } finally {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
