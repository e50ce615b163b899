import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hasCode } from '#dist/job/errors.js'
import { Crew } from '../crew.ts'
import { harnessApp, numberOf } from './app.js'
import { ENVIRONMENTS } from './environment.ts'
import type { Environment, Fault } from './fault.ts'
import { type Growth, growthsOf } from './growth.ts'
import { type InFlight, Journal } from './journal.ts'
import { type OtherVersion, type StoreName, UsageError } from './options.ts'
import { type PlannedFault, planOf } from './plan.ts'
import { faultsOfProcesses } from './process-faults.ts'
import { Pushers } from './pushers.ts'
import { type Soak, soak } from './soak.ts'
import { TaskReader } from './tasks.ts'
import { judge, type Verdict } from './verdict.ts'
import { chunksOf } from './workloads.js'

const WORKER = fileURLToPath(new URL('worker.js', import.meta.url))
const CONCURRENCY = 10
/** The most jobs that a worker has, also fetched ahead. */
const MOST_UNSETTLED = 150 + CONCURRENCY
/** A server may still read what a process sent before it was stopped. */
const SENT_MS = 50
const POLL_MS = 50
const AWAY = ['STORE_UNREACHABLE', 'STORE_TIMEOUT', 'STORE_FULL'] as const
/** A fault happens sooner when no job has begun for so long. */
const IDLE_MS = 1000
/** A soak has a fault each minute, if it has any. */
const SOAK_FAULT_SECONDS = 60
/** The jobs of a chunk of a soak, so that the rate is steady. */
const SOAK_CHUNK = 50
/** Nothing may be left to do for longer after the last fault. */
const MOST_MS = 120_000

type App = ReturnType<typeof harnessApp>

export interface RoundOptions {
  store: StoreName
  jobs: number
  seed: number
  workloads: readonly string[]
  /** Only faults whose names have one of these words; none: all, or no fault in a soak. */
  faults: readonly string[]
  soak?: Soak
  /** The version that every second process runs. */
  otherVersion?: OtherVersion
  /** Gets the plan before anything begins. */
  announce: (plan: readonly PlannedFault[]) => void
}

export interface Outcome extends Verdict {
  /** How often each fault was injected. */
  injected: Record<string, number>
  repeatedPushes: number
  lostOwners: number
  inFlight: number
  /** How the figures of a soak changed. */
  growths: Growth[]
  /** What else should not have happened. */
  problems: string[]
  seconds: number
}

export function isGood(outcome: Outcome): boolean {
  return hasGoodJobs(outcome) && outcome.growths.every(({ verdict }) => verdict !== 'grows')
}

/** Returns whether all checks of jobs and processes passed. Figures that grow do not matter here. */
export function hasGoodJobs({ all, countsOff, unexplained, ordersBroken, problems }: Outcome): boolean {
  return all.lost + countsOff.length + unexplained.length + ordersBroken.length + problems.length === 0
}

/** Runs a round. The journal of one that failed or broke off stays; the outcome or the error says where. */
export async function runRound(options: RoundOptions): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  try {
    const outcome = await runAndJudge(options, folder)
    if (hasGoodJobs(outcome)) rmSync(folder, { recursive: true, force: true })
    else outcome.problems.push(`the journal is in ${folder}`)
    return outcome
  } catch (thrown) {
    throw new Error(`the round on ${options.store} broke off; the journal is in ${folder}`, { cause: thrown })
  }
}

async function runAndJudge(options: RoundOptions, folder: string): Promise<Outcome> {
  const environment = await ENVIRONMENTS[options.store](folder, options.seed)
  try {
    return await injectAndJudge(options, environment, folder)
  } finally {
    await environment.close()
  }
}

async function injectAndJudge(options: RoundOptions, environment: Environment, folder: string): Promise<Outcome> {
  const { jobs, seed, soak: steady } = options
  const began = performance.now()
  const { url } = environment
  const journal = new Journal(folder, jobs, MOST_UNSETTLED)
  const chunks = chunksOf(jobs, options.workloads, steady && SOAK_CHUNK)
  const args = steady ? ['soak'] : []
  const env = options.otherVersion && alternating(options.otherVersion)
  const workers = new Crew({ url, folder, processes: 3, concurrency: CONCURRENCY, program: WORKER, args, env })
  const pushers = new Pushers({ url, folder, processes: 2, chunks, journal, args, env })
  const app = harnessApp(environment.directUrl, () => {})
  const tasks = new TaskReader(app)
  const countLost = async (pid: number) => journal.countLost(pid, await inFlightOf(app, pid))
  const all: Record<string, Fault> = {
    ...faultsOfProcesses(workers, pushers.crew, folder, countLost),
    ...environment.faults,
  }
  try {
    const names = steady && options.faults.length === 0 ? [] : faultsWith(options.faults, Object.keys(all))
    const plan = planOf(seed, jobs, names, steady && steady.rate * SOAK_FAULT_SECONDS)
    options.announce(plan)
    await Promise.all([workers.start(), pushers.crew.start()])
    const release = (below: number) => steady || pushers.release(below)
    const parts = { environment, app, journal, workers, pushers, tasks, hasFaults: plan.length > 0 }
    const [injected, samples] = await Promise.all([
      injectAll(plan, all, jobs, { journal, release }),
      steady ? soak(steady, parts) : [],
    ])
    pushers.release(jobs)
    // The jobs that a slow machine has not pushed yet may take longer than a soak keeps tasks.
    const problems = await untilWorkedOff(app, pushers, journal, () => steady && tasks.readEnded(journal))
    await Promise.all([workers.stop(), pushers.crew.stop()])
    journal.read()
    problems.push(...workers.complaints, ...pushers.crew.complaints)
    const { locks } = await app.hq.store.unique.list({ limit: 1000 }, Date.now())
    const stored = { stats: await app.hq.stats(), tasks: await tasks.readAll(journal), locks: locks.length }
    const verdict = judge(journal, chunks, stored, !steady)
    const { repeatedPushes, lostOwners, inFlight } = journal
    const seconds = (performance.now() - began) / 1000
    const growths = growthsOf(samples)
    return { ...verdict, injected, repeatedPushes, lostOwners, inFlight, growths, problems, seconds }
  } finally {
    workers.kill()
    pushers.crew.kill()
    await app.hq.close()
  }
}

/** Returns a function for `env` of a crew: every second new process runs the other version. */
function alternating({ main }: OtherVersion) {
  let begun = 0
  return (): Record<string, string> => (++begun % 2 === 0 ? { HIGHKIQ_CHAOS_PACKAGE: main } : {})
}

/** Returns the faults whose names have one of these words; without words: all. @throws UsageError */
function faultsWith(words: readonly string[], names: readonly string[]): string[] {
  const unknown = words.find((word) => word === '' || !names.some((name) => name.includes(word)))
  if (unknown !== undefined)
    throw new UsageError(`--faults must have words of these names: ${names.join(', ')} (got "${unknown}")`)
  return names.filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
}

/** Pushes the jobs part by part, so that some run when a fault is injected. Faults of different targets may overlap. */
async function injectAll(
  plan: readonly PlannedFault[],
  faults: Record<string, Fault>,
  jobs: number,
  { journal, release }: { journal: Journal; release: (below: number) => void },
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const active = new Map<string, Promise<unknown>>()
  for (const [i, planned] of plan.entries()) {
    release(Math.ceil(((i + 1) / plan.length) * jobs))
    await untilBegun(planned.at, journal)
    const fault = faults[planned.fault] as Fault
    await active.get(fault.target)
    const injecting = fault.inject(planned)
    // The promise is awaited below.
    injecting.catch(() => {})
    active.set(fault.target, injecting)
    counts[planned.fault] = (counts[planned.fault] ?? 0) + 1
  }
  await Promise.all(active.values())
  return counts
}

/** Returns what the store has with the workers of a process. Asks again while the server is away, or its memory is full. */
async function inFlightOf({ hq, orderedQueues }: App, pid: number): Promise<InFlight> {
  const { store } = hq
  await sleep(SENT_MS)
  const isOf = ({ owner }: { owner: string }) => owner.includes(`:${pid}:`)
  for (;;) {
    try {
      const [{ items }, ...ordered] = await Promise.all([
        store.workers.fetched({ limit: 1000 }),
        ...orderedQueues.map(({ name }) => store.ordered.inFlight(name)),
      ])
      // Asked last: whoever has an unclaimed lease now had all of its jobs before.
      const leases = await store.workers.leases()
      const numbers = items.filter(isOf).map(({ text }) => numberOf(text))
      const jobs = numbers.filter((n) => n !== undefined)
      const ids = ordered.flatMap((flights) => flights.filter(isOf).map(({ id }) => id))
      const isLeaseLost = !leases.some((lease) => isOf(lease) && !lease.claimed)
      return { jobs, unnumbered: numbers.length - jobs.length, ids, isLeaseLost }
    } catch (thrown) {
      if (!AWAY.some((code) => hasCode(thrown, code))) throw thrown
      await sleep(SENT_MS)
    }
  }
}

async function untilBegun(runs: number, journal: Journal): Promise<void> {
  let [last, since] = [-1, 0]
  for (;;) {
    journal.read()
    if (journal.runs >= runs) return
    if (journal.runs !== last) [last, since] = [journal.runs, performance.now()]
    else if (performance.now() - since > IDLE_MS) return
    await sleep(POLL_MS)
  }
}

/** Waits until all is pushed and nothing is left to do. Returns what is, when that takes too long. */
async function untilWorkedOff(
  { hq, orderedQueues }: App,
  pushers: Pushers,
  journal: Journal,
  readTasks: () => unknown,
): Promise<string[]> {
  let [last, since] = [-1, performance.now()]
  for (;;) {
    const { enqueued, limited, backlog, retries, scheduled, fetched } = await hq.store.metrics.totals()
    const stats = await Promise.all(orderedQueues.map((queue) => queue.stats()))
    const ordered = stats.reduce((sum, { length, busy }) => sum + length + busy, 0)
    const left = { enqueued, limited, backlog, retries, scheduled, fetched, ordered }
    if (pushers.isDone && Object.values(left).every((count) => count === 0)) return []
    journal.read()
    await readTasks()
    if (journal.runs !== last) [last, since] = [journal.runs, performance.now()]
    if (performance.now() - since > MOST_MS)
      return [`left over: ${JSON.stringify(left)}${pushers.isDone ? '' : ', and jobs that are not pushed'}`]
    await sleep(POLL_MS)
  }
}
