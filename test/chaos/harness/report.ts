import { textOf } from './growth.ts'
import type { Outcome } from './round.ts'
import type { Sums } from './verdict.ts'

const COLUMNS: (keyof Sums)[] = ['jobs', 'stored', 'refused', 'unsure', 'done', 'lost', 'repeats']
const SHOWN = 5

/** A table of the workloads, and what was wrong. */
export function reportOf(outcome: Outcome): string {
  const { workloads, all, injected, repeatedPushes, lostOwners, inFlight, growths, problems } = outcome
  const row = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(10) + cells.map((cell) => String(cell).padStart(10)).join('')
  const rowOf = (name: string, sums: Sums) =>
    row(
      name,
      COLUMNS.map((column) => sums[column]),
    )
  const count = Object.values(injected).reduce((sum, n) => sum + n, 0)
  const listOf = (what: string, errors: readonly string[]) => [
    `${errors.length} ${what}`,
    ...errors.slice(0, SHOWN).map((error) => `  ${error}`),
  ]
  return [
    row('', COLUMNS),
    ...Object.entries(workloads).map(([name, sums]) => rowOf(name, sums)),
    rowOf('all', all),
    `${count} faults: ${Object.entries(injected)
      .map(([name, n]) => `${name} ${n}`)
      .join(', ')}`,
    `${repeatedPushes} pushes repeated after a lost answer`,
    `${lostOwners} owners lost, with ${inFlight} jobs in flight`,
    ...listOf('counts off', outcome.countsOff),
    ...listOf('jobs repeated without a fault', outcome.unexplained),
    ...listOf('orders broken', outcome.ordersBroken),
    ...(growths.length > 0 ? [textOf(growths)] : []),
    ...problems,
  ].join('\n')
}
