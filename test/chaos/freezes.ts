import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { Crew } from './crew.ts'

const PROGRAM = fileURLToPath(new URL('freeze-worker.js', import.meta.url))
/** Milliseconds in which other workers see the lease end, take the jobs back and run them. */
const FREEZE_MS = 3000
const PROCESSES = 3
/** The number of jobs that wait in the queue, so that nearly every fetch gets as many as it asks for. */
const BACKLOG = 2000

export interface FreezeOutcome {
  jobs: number
  /** Jobs that never ended. */
  missing: number
  /** Jobs whose end was never counted, less those whose end was counted again. */
  uncounted: number
  lostLeases: number
  /** Handlers that were called again. */
  repeats: number
  /** Handlers that a process called after it was continued and before it saw that its lease was lost. */
  late: number
}

interface Stop {
  pid: number | undefined
  /** The jobs that were running when the process was stopped. */
  at: bigint
}

/** Stops two of three busy worker processes past their leases and continues them, again and again. */
export async function freezeWorkers(
  url: string,
  { folder, rounds, program = PROGRAM }: { folder: string; rounds: number; program?: string },
): Promise<FreezeOutcome> {
  const hq = new Highkiq({ url })
  const crew = new Crew({ url, folder, processes: PROCESSES, concurrency: 200, program })
  let jobs = 0
  let isOver = false
  const stops: Stop[] = []
  const freeze = async (chance: number) => {
    const at = process.hrtime.bigint() + BigInt(FREEZE_MS / 2) * 1_000_000n
    stops.push({ at, pid: await crew.freeze(FREEZE_MS, () => chance % 1) })
  }
  const produce = async () => {
    while (!isOver) {
      const { enqueued } = await hq.store.metrics.totals()
      if (enqueued < BACKLOG) {
        await hq.pushBulk({ class: 'Noted', args: Array.from({ length: BACKLOG / 2 }, () => [jobs++]) })
      } else await sleep(10)
    }
  }
  try {
    await crew.start()
    const producing = produce()
    for (let round = 0; round < rounds; round++) {
      await sleep(300 + Math.random() * 200)
      const chance = Math.random()
      await Promise.all([freeze(chance), freeze(chance + 1 / PROCESSES)])
    }
    isOver = true
    await producing
    for (;;) {
      const { enqueued, fetched: taken } = await hq.store.metrics.totals()
      if (enqueued + taken === 0) break
      await sleep(20)
    }
    await crew.stop()
    const { processed, dead } = await hq.store.metrics.totals()
    return { jobs, uncounted: jobs - processed - dead, ...judge(folder, jobs, stops) }
  } finally {
    isOver = true
    crew.kill()
    await hq.close()
  }
}

interface Note {
  pid: number
  word: string
  n: number
  at: bigint
}

function judge(folder: string, jobs: number, stops: readonly Stop[]): Omit<FreezeOutcome, 'jobs' | 'uncounted'> {
  const notes = readdirSync(folder).flatMap((name) => {
    const [, pid] = /^notes-(\d+)/.exec(name) ?? []
    return pid === undefined ? [] : readNotes(`${folder}/${name}`, Number(pid))
  })
  const begun = notes.filter(({ word }) => word === 'began').map(({ n }) => n)
  const ended = new Set(notes.filter(({ word }) => word === 'ended').map(({ n }) => n))
  const outcome = { missing: jobs - ended.size, lostLeases: 0, repeats: begun.length - new Set(begun).size, late: 0 }
  for (const { pid, at } of stops) {
    const after = notes.filter((note) => note.pid === pid && note.at > at)
    const lost = after.findIndex(({ word }) => word === 'lost')
    // The process lost no lease, or only when it was stopped again.
    const next = stops.find((other) => other.pid === pid && other.at > at)
    if (lost < 0 || (next && (after[lost] as Note).at > next.at)) continue
    outcome.lostLeases++
    outcome.late += after.slice(0, lost).filter(({ word }) => word === 'began').length
  }
  return outcome
}

/** The notes in the order of their times. */
function readNotes(path: string, pid: number): Note[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => {
    const [word = '', n, at = '0'] = line.split(' ')
    return { pid, word, n: Number(n), at: BigInt(at) }
  })
}
