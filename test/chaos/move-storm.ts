import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hasCode } from '#dist/job/errors.js'
import { chance } from '../conformance/chance.js'
import { Crew } from './crew.ts'
import { KINDS, type KindName } from './kinds.ts'
import { moveApp } from './move-jobs.js'
import { readNotes } from './notes.ts'
import { endsOf, lost } from './ordered-storm.ts'
import { disorder, outOfOrder, overlaps, readRuns } from './runs.ts'

const MOVER = fileURLToPath(new URL('mover.js', import.meta.url))
const WORKER = fileURLToPath(new URL('move-worker.js', import.meta.url))
const CONCURRENCY = 5
const WAVES = 3
/** The most lines that a mover writes before it is killed: one for each page, and for each pass. */
const MOST_LINES = 15
/** What each wave adds: a task with rows, and in each of its steps jobs, of which some are unique or limited, and ordered payloads. */
const ROWS = 20
const MOST_STEPS = 40
const STEP_MS = 60
const JOBS = 5
const PAYLOADS = 3
const IDS = 7
const MIX = ['fine', 'fine', 'fine', 'once', 'broken', 'killed', 'discarded'] as const satisfies KindName[]
const ENDED_MS = 60_000

export interface MoveOutcome {
  /** What was wrong when all jobs had ended. */
  wrong: string[]
  /** How often each fault of the storm happened. */
  happened: { pages: number; killed: number; refused: number }
}

type App = ReturnType<typeof moveApp>

/** Moves jobs from a store to another and back while they are pushed and run on both sides, and movers and workers are killed. */
export async function moveStorm(first: string, second: string, seed: number): Promise<MoveOutcome> {
  const random = chance(seed)
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-move-'))
  const urls = [first, second]
  const apps = urls.map((url) => moveApp(url, folder)) as [App, App]
  const crews = urls.map((url) => new Crew({ url, folder, processes: 1, concurrency: CONCURRENCY, program: WORKER }))
  const kinds: KindName[] = []
  const refused = new Set<number>()
  const tasks: { id: string; kinds: KindName[] }[] = []
  const happened = { pages: 0, killed: 0, refused: 0 }
  let [payloads, repeats] = [0, 0]

  const nextKind = () => {
    const kind = MIX[Math.floor(random() * MIX.length)] as KindName
    return [kinds.push(kind) - 1, kind] as const
  }

  const push = async ({ Plain, Unique, Limited }: App) => {
    const [n, kind] = nextKind()
    const dice = random()
    const seconds = random() < 0.4 ? random() : 0
    if (dice < 0.7) await Plain.performIn(seconds, n, kind)
    else if (dice < 0.85) await Limited.performIn(seconds, n, kind)
    else
      await Unique.performIn(seconds, n, kind).catch((thrown) => {
        if (!hasCode(thrown, 'UNIQUE_CONFLICT')) throw thrown
        refused.add(n)
      })
  }

  const addTask = async ({ hq, Row }: App) => {
    const added = Array.from({ length: ROWS }, nextKind)
    const rows = added.map(([n, kind]): [number, string] => [n, kind])
    const { id } = await hq.tasks.create(Row, rows, { window: 4 })
    tasks.push({ id, kinds: added.map(([, kind]) => kind) })
  }

  /** The later a payload is pushed, the higher is its score. */
  const pushOrdered = ({ Ordered }: App) =>
    Ordered.performAsync(
      Array.from({ length: PAYLOADS }, () => {
        const n = payloads++
        return { id: Math.floor(random() * IDS), payload: { n, score: n }, score: n, performIn: random() / 2 }
      }),
    )

  /** Starts a mover; it is killed when it has written `lines` lines. */
  const move = async (from: string, to: string, { lines = Infinity, undo = false } = {}) => {
    const args = [MOVER, from, to, ...(undo ? ['undo'] : [])]
    const mover = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(mover.stdout).on('line', (line) => {
      if (line === 'page') happened.pages++
      if (--lines === 0) happened.killed += mover.kill('SIGKILL') ? 1 : 0
    })
    const [code] = await once(mover, 'exit')
    if (code !== 0 && code !== null) throw new Error(`the mover ended with ${code}`)
  }

  /** Pushes while a mover starts, works and is killed. */
  const pushDuring = async (app: App, moving: Promise<void>) => {
    let isOver = false
    const ended = moving.finally(() => {
      isOver = true
    })
    const adding = addTask(app)
    for (let step = 0; step < MOST_STEPS && !isOver; step++) {
      await Promise.all([...Array.from({ length: JOBS }, () => push(app)), pushOrdered(app)])
      await sleep(random() * STEP_MS)
    }
    await Promise.all([ended, adding])
  }

  try {
    await Promise.all(crews.map((crew) => crew.start()))
    for (const [n, from] of apps.entries()) {
      const [source, target] = n === 0 ? ([first, second] as const) : ([second, first] as const)
      // The queue was paused when its ids left this store.
      await apps[1 - n]?.Ordered.resume()
      const pausedFrom = Math.floor(random() * (WAVES + 1))
      for (let wave = 0; wave < WAVES; wave++) {
        if (wave === pausedFrom) await from.Ordered.pause()
        await pushDuring(from, move(source, target, { lines: 1 + Math.floor(random() * MOST_LINES) }))
        if (random() < 0.3) await move(source, target, { undo: true })
        // Every second seed also kills workers, whose running jobs run again.
        if (seed % 2 === 0) {
          await crews[Math.floor(random() * 2)]?.replace(random)
          repeats += CONCURRENCY
        }
      }
      await move(source, target)
    }
    const end = performance.now() + ENDED_MS
    let left = await leftovers()
    for (; left.length > 0 && performance.now() < end; left = await leftovers()) await sleep(50)
    await Promise.all(crews.map((crew) => crew.stop()))
    happened.refused = refused.size
    return { wrong: [...left, ...(await faults())], happened }
  } finally {
    for (const crew of crews) crew.kill()
    for (const { hq } of apps) await hq.close()
    rmSync(folder, { recursive: true, force: true })
  }

  /** Returns what has not ended yet: it is in the first store again. */
  async function leftovers(): Promise<string[]> {
    const left: string[] = []
    for (const { hq, Ordered } of apps) {
      const { enqueued, backlog, scheduled, retries, fetched } = await hq.store.metrics.totals()
      const { length, busy } = await Ordered.stats()
      const { locks } = await hq.store.unique.list({ limit: 10 }, Date.now())
      const slots = await hq.limits.list()
      const counts = { enqueued, backlog, scheduled, retries, fetched, length, busy, locks: locks.length }
      for (const [name, count] of Object.entries({ ...counts, slots: slots.length }))
        if (count > 0) left.push(`${count} ${name} are left in ${hq.store.url}`)
    }
    for (const { id } of tasks) {
      const status = await apps[0].hq.tasks.get(id).status()
      if (status?.state !== 'done') left.push(`task ${id} is ${status?.state}`)
    }
    return left
  }

  async function faults(): Promise<string[]> {
    const wrong = crews.flatMap(({ complaints }) => complaints)
    const { ran, lost: lostLeases } = readNotes(folder)
    for (const { id, kinds } of tasks) {
      const { counts } = (await apps[0].hq.store.tasks.find(id)) ?? { counts: {} }
      const expected = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
      for (const kind of kinds) expected[KINDS[kind].status]++
      if (JSON.stringify(counts) !== JSON.stringify(expected)) wrong.push(`task ${id} has ${JSON.stringify(counts)}`)
    }
    let again = 0
    const dead: number[] = []
    for (const { hq } of apps) for await (const entry of hq.dead) dead.push(entry.args[0] as number)
    for (const [n, kind] of kinds.entries()) {
      const times = ran.get(n)?.length ?? 0
      if (refused.has(n)) {
        if (times > 0) wrong.push(`job ${n} ran, and its push was refused`)
        continue
      }
      const extra = times - KINDS[kind].runs
      if (extra < 0) wrong.push(`job ${n} (${kind}) ran ${times} times`)
      else again += extra
      const deaths = dead.filter((one) => one === n).length
      const expected = KINDS[kind].dead ? 1 : 0
      if (deaths !== expected) wrong.push(`job ${n} (${kind}) is ${deaths} times in a dead set`)
    }
    // The jobs of a worker that loses its lease run again: those that run, and those whose ends are on their way.
    repeats += lostLeases * 3 * CONCURRENCY
    if (again > repeats) wrong.push(`${again} runs too many, at most ${repeats} by killed workers`)
    const runs = readRuns(folder)
    const ordered = runs.filter(({ id }) => !urls.includes(id))
    const queues = apps.map(({ Ordered }) => Ordered)
    const ends = await endsOf(queues, ordered, payloads)
    const twice = [...ends.keys()].filter((n) => (ends[n] as number) > 1)
    if (repeats === 0 && twice.length > 0) wrong.push(`payloads ended more than once: ${twice}`)
    return [...wrong, ...overlaps(runs), ...disorder(ordered), ...outOfOrder(ordered), ...lost(ends)]
  }
}
