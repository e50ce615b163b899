import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killWorkers } from './kill-workers.ts'

const JOBS = 20_000
const KILLS = 20
const CONCURRENCY = 10

test('20 workers killed while 20,000 jobs run: nothing lost, few repeated, every count exact', {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  try {
    const { missing, repeats, stats, task } = await killWorkers({
      url: `sqlite:${folder}/chaos.db`,
      folder,
      jobs: JOBS,
      processes: 3,
      concurrency: CONCURRENCY,
      kills: KILLS,
      random: Math.random,
    })
    expect(missing).toEqual([])
    expect(repeats).toBeLessThanOrEqual(KILLS * CONCURRENCY)
    const rows = JOBS / 2
    expect(task).toMatchObject({
      state: 'done',
      total: rows,
      held: 0,
      counts: { enqueued: 0, working: 0, finished: rows - rows / 100, failed: rows / 100, error: 0, cancelled: 0 },
    })
    // Every attempt that ended is counted once: one of each job, and one more of those that fail at first.
    const failures = stats.failed
    expect(stats).toMatchObject({ processed: JOBS + failures, enqueued: 0, retries: 0, dead: 0 })
    expect(failures).toBeLessThanOrEqual(JOBS / 50)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
