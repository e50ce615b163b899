/** The measurements of `highkiq bench`. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchStore } from './bench-store.ts'
import { count } from './output.ts'
import { say } from './processes.ts'
import { CliError } from './usage.ts'

const LATENCY_JOBS = 300
const STALL_MS = 30_000

export interface BenchOptions {
  jobs: number
  concurrency: number
  /** Seconds after which a measurement pushes no more jobs. */
  maxSeconds: number
  signal: AbortSignal
}

export interface Measurement {
  name: string
  jobs: number
  seconds: number
  jobsPerSecond: number
  /** CPU time of this process. */
  cpuMicrosecondsPerJob: number
  /** CPU time of the server, also for its other clients. */
  serverMicrosecondsPerJob: number | null
}

/** @throws CliError unless each job runs exactly once; the reason of `signal` when it aborts */
export async function runBench(
  { hq, serverCpu }: BenchStore,
  { jobs, concurrency, maxSeconds, signal }: BenchOptions,
): Promise<{ measurements: Measurement[]; latencies: number[] }> {
  const measurements: Measurement[] = []
  const ran = new Set<number>()
  let pushed = 0
  let runs = 0
  let startedAt = 0
  const NoOp = hq.job('HighkiqBench', { retry: false }, (_ctx, n: number) => {
    startedAt = performance.now()
    ran.add(n)
    runs++
  })

  const incomplete = (why: string) =>
    new CliError(
      `bench pushed ${count(pushed)} jobs, and ${count(ran.size)} of them ran, in ${count(runs)} runs: ${why}`,
    )

  const measure = async (name: string, work: () => Promise<number>) => {
    say(`measuring: ${name}`)
    const before = await serverCpu()
    const cpu = process.cpuUsage()
    const at = performance.now()
    const jobs = await work()
    const seconds = (performance.now() - at) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const after = await serverCpu()
    const server = before === null || after === null ? null : (after - before) / jobs
    const rates = { jobsPerSecond: jobs / seconds, cpuMicrosecondsPerJob: (user + system) / jobs }
    measurements.push({ name, jobs, seconds, ...rates, serverMicrosecondsPerJob: server })
    return jobs
  }

  const push = async (chunk: number, send: (args: [number][]) => Promise<unknown>) => {
    const first = pushed
    const end = performance.now() + maxSeconds * 1000
    while (pushed < first + jobs && performance.now() < end) {
      signal.throwIfAborted()
      await send(Array.from({ length: Math.min(chunk, first + jobs - pushed) }, () => [pushed++]))
    }
    return pushed - first
  }
  const pushInBulk = () => push(1000, (args) => NoOp.performBulk(args))

  const untilAllRan = async () => {
    let seen = runs
    let seenAt = performance.now()
    while (runs < pushed) {
      if (seen !== runs) {
        seen = runs
        seenAt = performance.now()
      } else if (performance.now() - seenAt > STALL_MS) {
        throw incomplete(`no job has run for ${STALL_MS / 1000} s: check that the store answers`)
      }
      await sleep(1, undefined, { signal })
    }
  }

  await measure('push, 100 calls at a time', () =>
    push(100, (args) => Promise.all(args.map(([n]) => NoOp.performAsync(n)))),
  )
  await measure('push in bulk', pushInBulk)
  // The run begins when the worker is ready.
  await hq.queue('default').pause()
  const worker = hq.worker({ concurrency })
  await worker.start()
  await measure('run', async () => {
    await hq.queue('default').resume()
    await untilAllRan()
    return pushed
  })
  const untracked = await measure('push in bulk and run', async () => {
    const n = await pushInBulk()
    await untilAllRan()
    return n
  })
  await measure('push as rows of a task and run', async () => {
    await hq.tasks.create(
      NoOp,
      Array.from({ length: untracked }, () => [pushed++] as [number]),
    )
    await untilAllRan()
    return untracked
  })

  say('measuring: latency while idle')
  const latencies: number[] = []
  for (const end = performance.now() + maxSeconds * 1000; latencies.length < LATENCY_JOBS; ) {
    await sleep(5, undefined, { signal })
    const pushedAt = performance.now()
    await NoOp.performAsync(pushed++)
    await untilAllRan()
    latencies.push(startedAt - pushedAt)
    if (performance.now() > end) break
  }
  await worker.stop()

  const { processed, enqueued, busy, retries, dead } = await hq.stats()
  const left = enqueued + busy + retries + dead
  if (runs !== pushed || ran.size !== pushed || processed !== pushed || left > 0)
    throw incomplete(
      `the store counts ${count(processed)} as processed and ${count(left)} as left: report this with your store and version`,
    )
  return { measurements, latencies: latencies.sort((a, b) => a - b) }
}
