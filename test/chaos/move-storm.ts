import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chance } from '../conformance/chance.js'
import { Crew } from './crew.ts'
import { chaosApp } from './jobs.js'
import { KINDS, type KindName } from './kinds.ts'
import { readNotes } from './notes.ts'

const PROGRAM = fileURLToPath(new URL('mover.js', import.meta.url))
const CONCURRENCY = 5
const WAVES = 4
const JOBS = 150
/** The tasks that each wave adds, and their rows. */
const TASKS = 1
const ROWS = 20
const MIX = ['fine', 'fine', 'fine', 'once', 'broken', 'killed', 'discarded'] as const satisfies KindName[]

export interface MoveOutcome {
  /** What was wrong when all jobs had ended. */
  wrong: string[]
  /** Pages that moved. */
  pages: number
  killed: number
}

/** Moves jobs from a store to another and back while they are pushed and run on both sides, and movers and workers are killed. */
export async function moveStorm(first: string, second: string, seed: number): Promise<MoveOutcome> {
  const random = chance(seed)
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-move-'))
  const apps = [first, second].map((url) => chaosApp(url, folder))
  const crews = [first, second].map((url) => new Crew({ url, folder, processes: 1, concurrency: CONCURRENCY }))
  const kinds: KindName[] = []
  const tasks: { id: string; kinds: KindName[] }[] = []
  let [pages, killed, repeats] = [0, 0, 0]

  const nextKind = () => {
    const kind = MIX[Math.floor(random() * MIX.length)] as KindName
    return [kinds.push(kind) - 1, kind] as const
  }

  const addTask = async ({ hq, Row }: (typeof apps)[number]) => {
    const added = Array.from({ length: ROWS }, nextKind)
    const rows = added.map(([n, kind]): [number, string] => [n, kind])
    const { id } = await hq.tasks.create(Row, rows, { window: 4 })
    tasks.push({ id, kinds: added.map(([, kind]) => kind) })
  }

  const move = async (from: string, to: string, { killAfter, undo }: { killAfter?: number; undo?: boolean } = {}) => {
    const args = [PROGRAM, from, to, ...(undo ? ['undo'] : [])]
    const mover = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const exit = once(mover, 'exit')
    const lines = createInterface(mover.stdout)
    lines.on('line', (line) => {
      if (line === 'page') pages++
    })
    if (killAfter !== undefined) {
      await once(lines, 'line')
      await sleep(killAfter)
      killed += mover.kill('SIGKILL') ? 1 : 0
    }
    const [code] = await exit
    if (code !== 0 && code !== null) throw new Error(`the mover ended with ${code}`)
  }

  try {
    await Promise.all(crews.map((crew) => crew.start()))
    for (const [n, [from, to]] of (
      [
        [first, second],
        [second, first],
      ] as const
    ).entries()) {
      const app = apps[n] as (typeof apps)[number]
      for (let wave = 0; wave < WAVES; wave++) {
        const pushes = Array.from({ length: JOBS }, () => {
          const [n, kind] = nextKind()
          return random() < 0.3 ? app.Plain.performIn(random(), n, kind) : app.Plain.performAsync(n, kind)
        })
        const adding = Array.from({ length: TASKS }, () => addTask(app))
        await Promise.all([move(from, to, { killAfter: random() * 150 }), ...pushes, ...adding])
        if (random() < 0.3) await move(from, to, { undo: true })
        // Every second seed also kills workers, whose running jobs run again.
        if (seed % 2 === 0) {
          await crews[Math.floor(random() * 2)]?.replace(random)
          repeats += CONCURRENCY
        }
      }
      await move(from, to)
    }
    const { hq } = apps[0] as (typeof apps)[number]
    for (;;) {
      const { enqueued, scheduled, retries, busy } = await hq.stats()
      const { ran } = readNotes(folder)
      const states = await Promise.all(tasks.map(({ id }) => hq.tasks.get(id).status()))
      const areDone = states.every((status) => status?.state === 'done')
      if (enqueued + scheduled + retries + busy === 0 && ran.size === kinds.length && areDone) break
      await sleep(50)
    }
    await Promise.all(crews.map((crew) => crew.stop()))
    return { wrong: await faults(), pages, killed }
  } finally {
    for (const crew of crews) crew.kill()
    for (const { hq } of apps) await hq.close()
    rmSync(folder, { recursive: true, force: true })
  }

  async function faults(): Promise<string[]> {
    const wrong = crews.flatMap(({ complaints }) => complaints)
    const { ran } = readNotes(folder)
    for (const { id, kinds } of tasks) {
      const { counts } = (await (apps[0] as (typeof apps)[number]).hq.store.tasks.find(id)) ?? { counts: {} }
      const expected = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
      for (const kind of kinds) expected[KINDS[kind].status]++
      if (JSON.stringify(counts) !== JSON.stringify(expected)) wrong.push(`task ${id} has ${JSON.stringify(counts)}`)
    }
    let again = 0
    const dead: number[] = []
    for (const { hq } of apps) {
      const { enqueued, scheduled, retries } = await hq.stats()
      if (enqueued + scheduled + retries > 0)
        wrong.push(`${enqueued + scheduled + retries} jobs are left in ${hq.store.url}`)
      for await (const entry of hq.dead) dead.push(entry.args[0] as number)
    }
    for (const [n, kind] of kinds.entries()) {
      const extra = (ran.get(n)?.length ?? 0) - KINDS[kind].runs
      if (extra < 0) wrong.push(`job ${n} (${kind}) ran ${ran.get(n)?.length ?? 0} times`)
      else again += extra
      const deaths = dead.filter((one) => one === n).length
      const expected = KINDS[kind].dead ? 1 : 0
      if (deaths !== expected) wrong.push(`job ${n} (${kind}) is ${deaths} times in a dead set`)
    }
    if (again > repeats) wrong.push(`${again} runs too many, at most ${repeats} by killed workers`)
    return wrong
  }
}
