import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { sql } from '#dist/store/sqlite/sql.generated.js'

test('a finished job is found by the index of jids', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'jobs.db')
  const store = await openStore(`sqlite:${path}`)
  await store.jobs.queues()
  await store.close()
  const db = await openDriver(path)
  onTestFinished(() => db.close())
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql.set.finished}`).all('jid', '"jid"') as { detail: string }[]
  expect(plan.map(({ detail }) => detail).join('\n')).toContain('INDEX hk_finished_by_jid (<expr>=?')
})
