import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { freezeWorkers } from './freezes.ts'

// HIGHKIQ_FREEZES=20 runs the long form.
const rounds = Number(process.env.HIGHKIQ_FREEZES ?? 1)
const TITLE = 'busy workers that are stopped past their leases start no job that others have ended, and lose none'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-freezes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function check(url: string, folder: string): Promise<void> {
  const outcome = await freezeWorkers(url, { folder, rounds })
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ missing: 0, uncounted: 0, late: 0 })
}

describe('freezes on SQLite', () => {
  test(TITLE, { timeout: 180_000 + rounds * 10_000 }, async () => {
    const folder = temporaryFolder()
    await check(`sqlite:${folder}/jobs.db`, folder)
  })
})

onRedis('freezes on Redis', () => {
  test(TITLE, { timeout: 180_000 + rounds * 10_000 }, async () => {
    const server = await startServer({})
    onTestFinished(() => server.remove())
    await check(server.url(), temporaryFolder())
  })
})

onPostgres('freezes on PostgreSQL', () => {
  test(TITLE, { timeout: 180_000 + rounds * 10_000 }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    await check(server.url(), temporaryFolder())
  })
})
