import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killWorkers, mostRepeated } from './kill-workers.ts'

// The long form: HIGHKIQ_KILL_JOBS=20000
const jobs = Number(process.env.HIGHKIQ_KILL_JOBS ?? 4000)

test('20 workers killed while jobs run: nothing lost, few repeated, every count exact', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  try {
    const outcome = await killWorkers({
      url: `sqlite:${folder}/chaos.db`,
      folder,
      jobs,
      random: Math.random,
    })
    expect(outcome.complaints).toEqual([])
    expect(outcome.faults).toBe(20)
    expect(outcome.repeats).toBeLessThanOrEqual(mostRepeated(outcome))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
