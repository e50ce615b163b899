import { Highkiq } from 'highkiq'
import { until } from '../engine/bench.ts'
import { quiet } from './seed-workers.js'
import type { StormOutcome } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

const KEYS = ['a', 'b', 'c']
const JOBS = 180
/** The limit of limit-worker.js. */
const CONCURRENCY = 2
const STARTS_A_SECOND = 20 + 2

/** The run of a job, with times in microseconds. */
interface Run {
  pid: string
  key: string
  n: string
  began: number
  ended?: number
}

/** Runs jobs with limits while workers are killed and clocks are set. */
export async function limitsStorm(url: string, _seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const hq = new Highkiq({ url, logger: quiet })
  const runs: Run[] = []
  const done = new Set<string>()
  const lost = new Set<string>()
  /** When each process surely still lived. */
  const last = new Map<string, number>()
  crew.onOutput = (line) => {
    const [word, pid = '', at, key = '', n = ''] = line.split(' ')
    last.set(pid, Number(at))
    if (word === 'begin') runs.push({ pid, key, n, began: Number(at) })
    else if (word === 'lost') lost.add(pid)
    else {
      const run = runs.findLast((run) => run.pid === pid && run.n === n)
      if (run) run.ended = Number(at)
      done.add(n)
    }
  }
  try {
    await hq.pushBulk({ class: 'Limited', args: Array.from({ length: JOBS }, (_, n) => [KEYS[n % KEYS.length], n]) })
    await crew.start(url)
    await crew.killSome(url)
    await until(() => done.size === JOBS)
    await until(async () => (await hq.limits.list()).length === 0)
    await crew.killAll()
    // A process that was slow for seconds lost its lease, and with it its slots, while its jobs ran.
    const held = runs.filter(({ pid }) => !lost.has(pid))
    const wrong = KEYS.flatMap((key) =>
      exceeded(
        held.filter((run) => run.key === key),
        last,
      ),
    )
    return { wrong, happened: { again: runs.length - JOBS } }
  } finally {
    await hq.close()
  }
}

/** Returns where more jobs of a key ran at a time, or started within a second, than its limit allows. */
function exceeded(runs: readonly Run[], last: ReadonlyMap<string, number>): string[] {
  return runs.flatMap(({ key, began }) => {
    const endOf = (run: Run) => run.ended ?? (last.get(run.pid) as number)
    const running = runs.filter((run) => run.began <= began && began < endOf(run)).length
    // A worker may start a little late what it got in time: at most what has slots.
    const starts = runs.filter((run) => run.began >= began && run.began < began + 1_000_000).length
    return [
      ...(running > CONCURRENCY ? [`${running} jobs of ${key} ran at ${began}`] : []),
      ...(starts > STARTS_A_SECOND + 1 + CONCURRENCY ? [`${starts} jobs of ${key} started in a second`] : []),
    ]
  })
}
