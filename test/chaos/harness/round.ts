import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Highkiq } from 'highkiq'
import { hasCode } from '#dist/job/errors.js'
import type { EventStatus } from '#dist/store/contract.js'
import { Crew } from '../crew.ts'
import { harnessApp } from './app.js'
import type { Fault, Scene } from './fault.ts'
import { Journal } from './journal.ts'
import type { StoreName } from './options.ts'
import { judge, type Stored, type Verdict } from './oracle.ts'
import { planOf, type Strike } from './plan.ts'
import { faultsOfProcesses } from './process-faults.ts'
import { Pushers } from './pushers.ts'
import { SCENES } from './scene.ts'
import { chunksOf } from './workloads.js'

const WORKER = fileURLToPath(new URL('worker.js', import.meta.url))
const CONCURRENCY = 10
/** The most that a worker has, also fetched ahead: jobs, and runs of ids of the ordered queue. */
const MOST_UNTOLD = { jobs: 150 + CONCURRENCY, runs: 2 * 5 * 5 }
/** A server may still read what a process sent before it was stopped. */
const SENT_MS = 50
const LOOK_MS = 50
/** A fault strikes sooner when no job has begun for so long. */
const IDLE_MS = 1000
/** Nothing may be left to do for longer after the last fault. */
const MOST_MS = 120_000

export interface RoundOptions {
  store: StoreName
  jobs: number
  seed: number
  workloads: readonly string[]
  /** Only faults whose names have one of these words; none: all. */
  faults: readonly string[]
  /** Gets the plan before anything begins. */
  announce: (plan: readonly Strike[]) => void
}

export interface Outcome extends Verdict {
  /** How often each fault struck. */
  strikes: Record<string, number>
  lostOwners: number
  inFlight: number
  /** What else should not have happened. */
  complaints: string[]
  seconds: number
}

export function isGood({ all, countsOff, ordersBroken, inFlight, complaints }: Outcome): boolean {
  const faults = all.lost + countsOff.length + ordersBroken.length + complaints.length
  return faults === 0 && all.repeats <= inFlight
}

export async function runRound(options: RoundOptions): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  const scene = await SCENES[options.store](folder, options.seed)
  let isKept = true
  try {
    const outcome = await strikeAndJudge(options, scene, folder)
    isKept = !isGood(outcome)
    if (isKept) outcome.complaints.push(`the journal is in ${folder}`)
    return outcome
  } finally {
    await scene.close()
    if (!isKept) rmSync(folder, { recursive: true, force: true })
  }
}

async function strikeAndJudge(options: RoundOptions, scene: Scene, folder: string): Promise<Outcome> {
  const { jobs, seed } = options
  const began = performance.now()
  const { url } = scene
  const journal = new Journal(folder, jobs, MOST_UNTOLD)
  const chunks = chunksOf(jobs, options.workloads)
  const workers = new Crew({ url, folder, processes: 3, concurrency: CONCURRENCY, program: WORKER })
  const pushers = new Pushers({ url, folder, processes: 2, chunks, journal })
  const app = harnessApp(scene.calmUrl, () => {})
  const lose = async (pid: number) => {
    const { jobs, ids } = await inFlightOf(app.hq, pid)
    journal.lose(pid, jobs, ids)
  }
  const all: Record<string, Fault> = { ...faultsOfProcesses(workers, pushers.crew, folder, lose), ...scene.faults }
  const wanted = Object.keys(all).filter(
    (name) => options.faults.length === 0 || options.faults.some((word) => name.includes(word)),
  )
  const plan = planOf(seed, jobs, wanted)
  options.announce(plan)
  try {
    await Promise.all([workers.start(), pushers.crew.start()])
    const strikes = await strikeAll(plan, all, jobs, { journal, pushers })
    const complaints = await workedOff(app, pushers, journal)
    await Promise.all([workers.stop(), pushers.crew.stop()])
    journal.read()
    complaints.push(...workers.complaints, ...pushers.crew.complaints)
    const verdict = judge(journal, chunks, await storedOf(app, journal))
    const { lostOwners, inFlight } = journal
    return { ...verdict, strikes, lostOwners, inFlight, complaints, seconds: (performance.now() - began) / 1000 }
  } finally {
    workers.kill()
    pushers.crew.kill()
    await app.hq.close()
  }
}

/** Pushes the jobs part by part, so that some run when a fault strikes. Faults of different victims may overlap. */
async function strikeAll(
  plan: readonly Strike[],
  faults: Record<string, Fault>,
  jobs: number,
  { journal, pushers }: { journal: Journal; pushers: Pushers },
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const striking = new Map<string, Promise<unknown>>()
  for (const [i, strike] of plan.entries()) {
    pushers.release(Math.ceil(((i + 1) / plan.length) * jobs))
    await untilBegun(strike.at, journal)
    const { victim, strike: act } = faults[strike.fault] as Fault
    await striking.get(victim)
    const acting = act(strike)
    // It is awaited below.
    acting.catch(() => {})
    striking.set(victim, acting)
    counts[strike.fault] = (counts[strike.fault] ?? 0) + 1
  }
  await Promise.all(striking.values())
  return counts
}

/** Returns what the store has with the workers of a process. Asks again while the server is away. */
async function inFlightOf({ store }: Highkiq, pid: number): Promise<{ jobs: number; ids: string[] }> {
  await sleep(SENT_MS)
  const isOf = ({ owner }: { owner: string }) => owner.includes(`:${pid}:`)
  for (;;) {
    try {
      const [{ items }, ordered] = await Promise.all([
        store.workers.fetched({ limit: 1000 }),
        store.ordered.inFlight('Ordered'),
      ])
      return { jobs: items.filter(isOf).length, ids: ordered.filter(isOf).map(({ id }) => id) }
    } catch (thrown) {
      if (!hasCode(thrown, 'STORE_UNREACHABLE') && !hasCode(thrown, 'STORE_TIMEOUT')) throw thrown
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
    await sleep(LOOK_MS)
  }
}

/** Waits until all is pushed and nothing is left to do. Returns what is, when that takes too long. */
async function workedOff(
  { hq, Ordered }: ReturnType<typeof harnessApp>,
  pushers: Pushers,
  journal: Journal,
): Promise<string[]> {
  let [last, since] = [-1, performance.now()]
  for (;;) {
    const { enqueued, limited, backlog, retries, scheduled, fetched } = await hq.store.metrics.totals()
    const { length, busy } = await Ordered.stats()
    const left = { enqueued, limited, backlog, retries, scheduled, fetched, ordered: length + busy }
    if (pushers.isDone && Object.values(left).every((count) => count === 0)) return []
    journal.read()
    if (journal.runs !== last) [last, since] = [journal.runs, performance.now()]
    if (performance.now() - since > MOST_MS)
      return [`left over: ${JSON.stringify(left)}${pushers.isDone ? '' : ', and jobs that are not pushed'}`]
    await sleep(LOOK_MS)
  }
}

async function storedOf({ hq }: ReturnType<typeof harnessApp>, journal: Journal): Promise<Stored> {
  const tasks: Stored['tasks'] = new Map(
    await Promise.all(
      journal.tasks.map(async ({ id }) => {
        const task = hq.tasks.get(id)
        const status = await task.status()
        if (!status) return [id, null] as const
        const events: EventStatus[] = []
        for await (const event of task.events()) events.push(event.status)
        return [id, { state: status.state, counts: status.counts, events }] as const
      }),
    ),
  )
  const { locks } = await hq.store.unique.list({ limit: 1000 }, Date.now())
  return { stats: await hq.stats(), tasks, locks: locks.length }
}
