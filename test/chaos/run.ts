// npm run chaos -- [--minutes N] [--jobs N]: kills worker processes at random, round after round, until the time is over.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killWorkers } from './kill-workers.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, jobs: { type: 'string', default: '20000' } },
})
const jobs = Number(values.jobs)
const end = Date.now() + Number(values.minutes) * 60_000
const kills = 20
const concurrency = 10

for (let round = 1; round === 1 || Date.now() < end; round++) {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  const url = `sqlite:${folder}/chaos.db`
  const began = Date.now()
  const result = await killWorkers({ url, folder, jobs, processes: 3, concurrency, kills, random: Math.random })
  const { missing, repeats, stats, task } = result
  const exact = stats.processed === jobs + stats.failed && task.counts.finished + task.counts.failed === jobs / 2
  const good = missing.length === 0 && repeats <= kills * concurrency && exact
  console.log(
    `round ${round}: ${jobs} jobs, ${kills} kills, ${missing.length} lost, ${repeats} repeated (at most ${kills * concurrency}), counts ${exact ? 'exact' : 'WRONG'}, ${((Date.now() - began) / 1000).toFixed(1)} s`,
  )
  if (!good) {
    console.log(`kept for inspection: ${folder}`)
    process.exit(1)
  }
  rmSync(folder, { recursive: true, force: true })
}
