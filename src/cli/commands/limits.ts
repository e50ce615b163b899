/** `highkiq limits` shows the limits that are in use. */

import type { Command } from 'commander'
import type { LimitInfo } from '../../index.ts'
import { limitName } from '../limit-name.ts'
import { type Column, count, duration, table } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'

const COLUMNS: Column<LimitInfo>[] = [
  { title: 'LIMIT', of: limitName },
  { title: 'KEY', of: ({ key }) => key ?? '', flexible: true },
  { title: 'USED', of: ({ used, concurrency }) => (concurrency === null ? '' : count(used)), right: true },
  { title: 'MAX', of: ({ concurrency }) => (concurrency === null ? '' : count(concurrency)), right: true },
  {
    title: 'RATE',
    of: ({ rate, per }) => (rate === null || per === null ? '' : `${count(rate)} in ${duration(per)}`),
    right: true,
  },
  { title: 'WAITING', of: ({ waiting }) => count(waiting), right: true },
  { title: 'NEXT START', of: ({ nextStart }) => (nextStart === null ? '' : startsIn(nextStart)), right: true },
]

function startsIn(seconds: number): string {
  return seconds === 0 ? 'now' : `in ${duration(seconds)}`
}

export function register(program: Command): void {
  withShowOptions(program.command('limits'))
    .description('limits in use, with their slots and the number of jobs that wait for them')
    .addHelpText('after', '\nExamples:\n  highkiq limits\n  highkiq limits --json\n')
    .action((options: ShowOptions) =>
      show(options, { get: (hq) => hq.limits.list(), text: (limits) => table(COLUMNS, limits, 'no limits in use') }),
    )
}
