/** The measurements of `highkiq bench`. */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq, Job } from '../index.ts'
import type { BenchStore } from './bench-store.ts'
import { count } from './output.ts'
import { CliError, printToStderr } from './usage.ts'

const LATENCY_JOBS = 300
/** The most jobs of each kind that run first and do not count, so that V8 has compiled the code. */
const WARM_UP = { jobs: 5000, maxSeconds: 2 }
const STALL_MS = 30_000

export interface BenchOptions {
  jobs: number
  concurrency: number
  /** The length of each job's arguments as JSON. Without it they are one number. */
  bytes?: number
  /** Seconds after which a measurement pushes no more jobs. */
  maxSeconds: number
  signal: AbortSignal
}

type Args = [n: number, text?: string]
type Limit = Pick<BenchOptions, 'jobs' | 'maxSeconds'>

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
  store: BenchStore,
  options: BenchOptions,
): Promise<{ measurements: Measurement[]; latencies: number[] }> {
  const { hq } = store
  const jobs = new BenchJobs(hq, options)
  const measurements: Measurement[] = []
  const measure = async (name: string, work: () => Promise<number>) => {
    const measurement = await measureWork(store, name, work)
    measurements.push(measurement)
    return measurement.jobs
  }

  printToStderr('warming up')
  const worker = hq.worker({ concurrency: options.concurrency })
  await worker.start()
  const few = { ...WARM_UP, jobs: Math.min(options.jobs, WARM_UP.jobs) }
  await jobs.pushInCalls(few)
  await jobs.pushAsRows(await jobs.pushInBulk(few))
  await jobs.untilAllRan()

  await hq.queue('default').pause()
  const single = await measure('push, 100 calls at a time', () => jobs.pushInCalls())
  const bulk = await measure('push in bulk', () => jobs.pushInBulk())
  await measure('run', async () => {
    await hq.queue('default').resume()
    await jobs.untilAllRan()
    return single + bulk
  })
  const untracked = await measure('push in bulk and run', async () => {
    const n = await jobs.pushInBulk()
    await jobs.untilAllRan()
    return n
  })
  await measure('push as rows of a task and run', async () => {
    await jobs.pushAsRows(untracked)
    await jobs.untilAllRan()
    return untracked
  })
  printToStderr('measuring: latency while idle')
  const latencies = await jobs.latencies()
  await worker.stop()
  await jobs.checkComplete()
  return { measurements, latencies: latencies.sort((a, b) => a - b) }
}

/** Measures `work`, which resolves with the number of its jobs. */
async function measureWork({ serverCpu }: BenchStore, name: string, work: () => Promise<number>): Promise<Measurement> {
  printToStderr(`measuring: ${name}`)
  const before = await serverCpu()
  const cpu = process.cpuUsage()
  const at = performance.now()
  const jobs = await work()
  const seconds = (performance.now() - at) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const after = await serverCpu()
  const server = before === null || after === null ? null : (after - before) / jobs
  const rates = { jobsPerSecond: jobs / seconds, cpuMicrosecondsPerJob: (user + system) / jobs }
  return { name, jobs, seconds, ...rates, serverMicrosecondsPerJob: server }
}

/** Pushes jobs that do nothing, and counts their runs. */
class BenchJobs {
  readonly #hq: Highkiq
  readonly #options: BenchOptions
  readonly #job: Job<Args>
  readonly #text: string
  /** The numbers of the jobs that have run. */
  readonly #ran = new Set<number>()
  #runs = 0
  /** When the last job started. */
  #startedAt = 0
  pushed = 0

  constructor(hq: Highkiq, options: BenchOptions) {
    this.#hq = hq
    this.#options = options
    // Random, because PostgreSQL compresses.
    this.#text = randomBytes(options.bytes ?? 0).toString('base64')
    this.#job = hq.job('HighkiqBench', { retry: false }, (_ctx, n: number, _text?: string) => {
      this.#startedAt = performance.now()
      this.#ran.add(n)
      this.#runs++
    })
  }

  /** Pushes 100 jobs at a time, each with a call of its own. Returns the number of jobs. */
  pushInCalls(limit: Limit = this.#options): Promise<number> {
    return this.#push(limit, 100, (args) => Promise.all(args.map((one) => this.#job.performAsync(...one))))
  }

  /** Returns the number of jobs. */
  pushInBulk(limit: Limit = this.#options): Promise<number> {
    return this.#push(limit, 1000, (args) => this.#job.performBulk(args))
  }

  async pushAsRows(n: number): Promise<void> {
    await this.#hq.tasks.create(this.#job, this.#argsOf(n))
  }

  /** Returns the arguments of the next `n` jobs. */
  #argsOf(n: number): Args[] {
    const { bytes } = this.#options
    return Array.from({ length: n }, () => {
      const number = this.pushed++
      return bytes === undefined ? [number] : [number, this.#text.slice(0, bytes - `[${number},""]`.length)]
    })
  }

  async #push({ jobs, maxSeconds }: Limit, chunk: number, send: (args: Args[]) => Promise<unknown>): Promise<number> {
    const first = this.pushed
    const end = performance.now() + maxSeconds * 1000
    while (this.pushed < first + jobs && performance.now() < end) {
      this.#options.signal.throwIfAborted()
      await send(this.#argsOf(Math.min(chunk, first + jobs - this.pushed)))
    }
    return this.pushed - first
  }

  /** @throws CliError when no job runs for a long time */
  async untilAllRan(): Promise<void> {
    let seen = this.#runs
    let seenAt = performance.now()
    while (this.#runs < this.pushed) {
      if (seen !== this.#runs) {
        seen = this.#runs
        seenAt = performance.now()
      } else if (performance.now() - seenAt > STALL_MS) {
        throw this.#incomplete(`no job has run for ${STALL_MS / 1000} s: check that the store answers`)
      }
      await sleep(1, undefined, { signal: this.#options.signal })
    }
  }

  /** Pushes one job after the other, and measures the milliseconds from each push to the start of the job. */
  async latencies(): Promise<number[]> {
    const { maxSeconds, signal } = this.#options
    const latencies: number[] = []
    const end = performance.now() + maxSeconds * 1000
    while (latencies.length < LATENCY_JOBS) {
      await sleep(5, undefined, { signal })
      const [args] = this.#argsOf(1) as [Args]
      const pushedAt = performance.now()
      await this.#job.performAsync(...args)
      await this.untilAllRan()
      latencies.push(this.#startedAt - pushedAt)
      if (performance.now() > end) break
    }
    return latencies
  }

  /** @throws CliError unless each job ran exactly once and the store counts so */
  async checkComplete(): Promise<void> {
    const { processed, enqueued, busy, retries, dead } = await this.#hq.stats()
    const left = enqueued + busy + retries + dead
    const { pushed } = this
    if (this.#runs === pushed && this.#ran.size === pushed && processed === pushed && left === 0) return
    throw this.#incomplete(
      `the store counts ${count(processed)} as processed and ${count(left)} as left: report this with your store and version`,
    )
  }

  #incomplete(why: string): CliError {
    const [pushed, ran, runs] = [this.pushed, this.#ran.size, this.#runs].map(count)
    return new CliError(`bench pushed ${pushed} jobs, and ${ran} of them ran, in ${runs} runs: ${why}`)
  }
}
