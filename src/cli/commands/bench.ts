/** `highkiq bench` measures the user's own store for some seconds. */

import { arch, cpus, platform, release } from 'node:os'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { storeUrl } from '../../environment.ts'
import { VERSION } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import { type Measurement, runBench } from '../bench-run.ts'
import { openBenchStore } from '../bench-store.ts'
import { setExitCode } from '../io.ts'
import { type Column, count, pairs, printResult, table } from '../output.ts'
import { quietLog } from '../task-worker.ts'
import { onInterrupt } from '../terminal.ts'
import { printToStderr, wholeNumber } from '../usage.ts'

const MOST_JOBS = 1_000_000
const [LEAST_BYTES, MOST_BYTES] = [16, 100_000]
/** Seconds of a measurement without --jobs. */
const MAX_SECONDS = 4

const EXAMPLES = `
The jobs do nothing, so the figures are the cost of Highkiq and of the store. Each job must run exactly once; otherwise the
exit code is 1. Without --jobs a measurement pushes for at most ${MAX_SECONDS} seconds. Up to 15,000 jobs run first and do not
count, so that V8 has compiled the code. Give --bytes the size of the arguments of your jobs.

bench works beside your data: on Redis in a namespace of its own, on PostgreSQL in a schema of its own, on SQLite in a file
in a folder of its own. No other worker runs its jobs, and no queue, total or process of yours changes. While it runs, other
work is slower.

It removes all that it stored, also after Ctrl-C; on Redis it scans the keys of the whole database for that. Its namespaces
and folders are named highkiq-bench-…, its schemas highkiq_bench_…: a later run removes those of runs that were killed on the
same machine more than an hour ago, and those that are older than a day.

Examples:
  highkiq bench
  highkiq bench --url redis://localhost:6379/0 --concurrency 25 --json
  highkiq bench --url sqlite:/var/lib/shop/jobs.db --jobs 100000
  highkiq bench --url postgres://shop@localhost/shop --bytes 2000
`

export function register(program: Command): void {
  program
    .command('bench')
    .description('measure pushes, runs and latency on your own store, beside its data')
    .option('--url <url>', 'store (default: HIGHKIQ_URL, REDIS_URL, else sqlite:highkiq.db)')
    .option('--jobs <n>', 'jobs of each measurement (default: 10,000)', jobCount)
    .addOption(new Option('-c, --concurrency <n>', 'jobs that run at the same time').argParser(wholeNumber).default(10))
    .option('--bytes <n>', "bytes of each job's arguments as JSON (default: one number)", byteCount)
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(bench)
}

function jobCount(text: string): number {
  const n = wholeNumber(text)
  if (n <= MOST_JOBS) return n
  throw new InvalidArgumentError(`It must be at most ${count(MOST_JOBS)}.`)
}

function byteCount(text: string): number {
  const n = wholeNumber(text)
  if (n >= LEAST_BYTES && n <= MOST_BYTES) return n
  throw new InvalidArgumentError(`It must be ${LEAST_BYTES} to ${count(MOST_BYTES)}.`)
}

const COLUMNS: Column<Measurement>[] = [
  { title: 'MEASUREMENT', of: ({ name }) => name },
  { title: 'JOBS', of: ({ jobs }) => count(jobs), right: true },
  { title: 'SECONDS', of: ({ seconds }) => seconds.toFixed(2), right: true },
  { title: 'JOBS/S', of: ({ jobsPerSecond }) => count(Math.round(jobsPerSecond)), right: true },
  { title: 'CPU µs/JOB', of: (row) => row.cpuMicrosecondsPerJob.toFixed(1), right: true },
  { title: 'SERVER µs/JOB', of: (row) => row.serverMicrosecondsPerJob?.toFixed(1) ?? '-', right: true },
]

interface BenchCommandOptions {
  url?: string
  jobs?: number
  concurrency: number
  bytes?: number
  json?: boolean
}

async function bench({ url, jobs, concurrency, bytes, json }: BenchCommandOptions): Promise<void> {
  quietLog({ work: true })
  const store = await openBenchStore(url ?? storeUrl() ?? 'sqlite:highkiq.db', jobs ?? 10_000, bytes)
  const interrupt = onInterrupt()
  try {
    await store.hq.store.open()
    const limits = jobs === undefined ? { jobs: 10_000, maxSeconds: MAX_SECONDS } : { jobs, maxSeconds: Infinity }
    const size = bytes === undefined ? {} : { bytes }
    const options = { ...limits, ...size, concurrency, signal: interrupt.signal }
    const { measurements, latencies } = await runBench(store, options)
    const share = (part: number) => Number((latencies[Math.floor(part * latencies.length)] as number).toFixed(2))
    const latency = { jobs: latencies.length, p50: share(0.5), p95: share(0.95), p99: share(0.99) }
    const facts = {
      store: store.url,
      ...(store.server ? { server: store.server } : {}),
      machine: `${platform()} ${release()} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim()}`,
      node: process.version,
      highkiq: VERSION,
      concurrency,
      ...size,
    }
    const idle = `p50 ${latency.p50} ms, p95 ${latency.p95} ms, p99 ${latency.p99} ms, of ${count(latency.jobs)} jobs`
    const shown = Object.entries({ ...facts, 'idle latency': idle }).map(([name, fact]) => [name, `${fact}`] as const)
    printResult(json, { ...facts, latency, measurements }, `${table(COLUMNS, measurements)}\n\n${pairs(shown)}`)
  } catch (thrown) {
    if (!interrupt.signal.aborted) throw thrown
    setExitCode(interrupt.exitCode)
  } finally {
    await store.hq.close().catch(() => {})
    try {
      for (const name of await store.clean()) printToStderr(`removed ${name}, left by a killed run`)
    } catch (thrown) {
      setExitCode(1)
      printToStderr(
        `bench could not remove all that it stored (${messageOf(thrown)}): run bench again in an hour to remove it`,
      )
    }
    interrupt.release()
  }
}
