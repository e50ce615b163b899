import { chance } from '../../conformance/chance.js'

/** One fault of a run. */
export interface PlannedFault {
  /** The fault happens when so many runs of jobs have begun. */
  at: number
  fault: string
  /** Chooses the process, from 0 to 1. */
  pick: number
  /** How long it lasts, if it lasts, as a part of its range from 0 to 1. */
  part: number
}

const JOBS_OF_A_FAULT = 500
const MOST = 200

/**
 * Draws the faults of a run, each of them at least once, and one for so many jobs. The same arguments give the same plan.
 */
export function planOf(
  seed: number,
  jobs: number,
  faults: readonly string[],
  jobsOfFault = JOBS_OF_A_FAULT,
): PlannedFault[] {
  if (faults.length === 0) return []
  const random = chance(seed)
  const count = Math.max(Math.min(Math.round(jobs / jobsOfFault), MOST), faults.length)
  let deck: string[] = []
  return Array.from({ length: count }, (_, i) => {
    if (deck.length === 0) deck = [...faults]
    const [fault = ''] = deck.splice(Math.floor(random() * deck.length), 1)
    const at = Math.floor(((i + 0.1 + 0.7 * random()) / count) * jobs)
    return { at, fault, pick: random(), part: random() }
  })
}

export function textOf(plan: readonly PlannedFault[]): string {
  const width = Math.max(...plan.map(({ fault }) => fault.length))
  const cells = plan.map(({ at, fault, pick, part }) => {
    const numbers = [pick, part].map((number) => number.toFixed(2)).join(' ')
    return `${String(at).padStart(8)} ${fault.padEnd(width)} ${numbers}`
  })
  const rows = Array.from({ length: Math.ceil(cells.length / 3) }, (_, i) => cells.slice(3 * i, 3 * i + 3).join('   '))
  return rows.join('\n')
}
