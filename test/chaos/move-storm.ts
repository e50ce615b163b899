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
  let [pages, killed, repeats] = [0, 0, 0]

  const move = async (from: string, to: string, killAfter?: number) => {
    const mover = spawn(process.execPath, [PROGRAM, from, to], { stdio: ['ignore', 'pipe', 'inherit'] })
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
      const { Plain } = apps[n] as (typeof apps)[number]
      for (let wave = 0; wave < WAVES; wave++) {
        const pushes = Array.from({ length: JOBS }, () => {
          const kind = MIX[Math.floor(random() * MIX.length)] as KindName
          const n = kinds.push(kind) - 1
          return random() < 0.3 ? Plain.performIn(random(), n, kind) : Plain.performAsync(n, kind)
        })
        await Promise.all([move(from, to, random() * 60), ...pushes])
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
      if (enqueued + scheduled + retries + busy === 0 && ran.size === kinds.length) break
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
