import type { Sums } from './oracle.ts'
import type { Outcome } from './round.ts'

const COLUMNS: (keyof Sums)[] = ['jobs', 'stored', 'refused', 'unsure', 'done', 'lost', 'repeats']
const SHOWN = 5

/** A table of the workloads, and what was wrong. */
export function reportOf(outcome: Outcome): string {
  const { workloads, all, strikes, lostOwners, inFlight, countsOff, ordersBroken, complaints } = outcome
  const row = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(10) + cells.map((cell) => String(cell).padStart(10)).join('')
  const rowOf = (name: string, sums: Sums) =>
    row(
      name,
      COLUMNS.map((column) => sums[column]),
    )
  const count = Object.values(strikes).reduce((sum, n) => sum + n, 0)
  const some = (faults: readonly string[]) => faults.slice(0, SHOWN).map((fault) => `  ${fault}`)
  return [
    row('', COLUMNS),
    ...Object.entries(workloads).map(([name, sums]) => rowOf(name, sums)),
    rowOf('all', all),
    `${count} faults: ${Object.entries(strikes)
      .map(([name, n]) => `${name} ${n}`)
      .join(', ')}`,
    `${lostOwners} owners lost, with ${inFlight} jobs in flight, of which ${all.repeats} were repeated`,
    `${countsOff.length} counts off`,
    ...some(countsOff),
    `${ordersBroken.length} orders broken`,
    ...some(ordersBroken),
    ...complaints,
  ].join('\n')
}
