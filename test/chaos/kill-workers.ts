import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chaosApp } from './jobs.js'

export interface ChaosOptions {
  url: string
  /** For the files in which effects are noted. */
  folder: string
  /** Half of them plain, half of them rows of a task. */
  jobs: number
  processes: number
  concurrency: number
  kills: number
  random: () => number
}

export interface ChaosResult {
  /** How often each job ran, by its line. */
  runs: Map<string, number>
  /** Runs beyond the one (or, for those that fail once, two) that each job needs. */
  repeats: number
  missing: string[]
  stats: Awaited<ReturnType<ReturnType<typeof chaosApp>['hq']['stats']>>
  task: Awaited<ReturnType<ReturnType<ReturnType<typeof chaosApp>['hq']['tasks']['get']>['wait']>>
}

/** Pushes jobs, and kills worker processes at random while others do them. */
export async function killWorkers(options: ChaosOptions): Promise<ChaosResult> {
  const { url, folder, jobs, processes, concurrency, kills, random } = options
  const { hq, Plain, Row } = chaosApp(url, folder)
  const half = jobs / 2
  const workers: ChildProcess[] = []
  const start = async () => {
    const program = fileURLToPath(new URL('worker.js', import.meta.url))
    const worker = spawn(process.execPath, [program, url, folder, String(concurrency)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // What it takes back is no news here.
      env: { ...process.env, HIGHKIQ_LOG_LEVEL: 'error' },
    })
    workers.push(worker)
    await once(worker.stdout as NodeJS.ReadableStream, 'data')
    return worker
  }
  try {
    await Promise.all(Array.from({ length: processes }, start))
    const pushing = Plain.performBulk(Array.from({ length: half }, (_, n) => [n] as [number]))
    const adding = hq.tasks.create(
      Row,
      Array.from({ length: half }, (_, n) => [n] as [number]),
    )
    for (let kill = 0; kill < kills; kill++) {
      await sleep(20 + random() * 100)
      const [victim] = workers.splice(Math.floor(random() * workers.length), 1)
      victim?.kill('SIGKILL')
      await start()
    }
    await pushing
    const task = await (await adding).wait()
    for (;;) {
      const { enqueued, retries, scheduled, dead } = await hq.stats()
      const { taken } = await hq.store.stats()
      if (enqueued + retries + scheduled + taken + dead === 0) break
      await sleep(50)
    }
    const exits = workers.map((worker) => once(worker, 'exit'))
    for (const worker of workers) worker.kill('SIGTERM')
    await Promise.all(exits)
    return { ...countEffects(folder, half), stats: await hq.stats(), task }
  } finally {
    for (const worker of workers) worker.kill('SIGKILL')
    await hq.close()
  }
}

function countEffects(folder: string, half: number) {
  const runs = new Map<string, number>()
  for (const file of readdirSync(folder).filter((name) => name.startsWith('effects-'))) {
    for (const line of readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean)) {
      runs.set(line, (runs.get(line) ?? 0) + 1)
    }
  }
  const missing: string[] = []
  let repeats = 0
  for (let n = 0; n < half; n++) {
    for (const [line, needed] of [
      [`plain ${n}`, n % 50 === 7 ? 2 : 1],
      [`row ${n}`, n % 50 === 9 ? 2 : 1],
    ] as const) {
      const times = runs.get(line) ?? 0
      if (times === 0) missing.push(line)
      repeats += Math.max(times - needed, 0)
    }
  }
  return { runs, repeats, missing }
}
