import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killWorkers, mostRepeated } from './kill-workers.ts'

test('20 workers killed while 20,000 jobs run: nothing lost, few repeated, every count exact', {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  try {
    const outcome = await killWorkers({
      url: `sqlite:${folder}/chaos.db`,
      folder,
      jobs: 20_000,
      random: Math.random,
    })
    expect(outcome.complaints).toEqual([])
    expect(outcome.strikes).toBe(20)
    expect(outcome.repeats).toBeLessThanOrEqual(mostRepeated(outcome))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
