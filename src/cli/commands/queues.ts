/** `highkiq queues`: what waits where. */

import type { Command } from 'commander'
import type { Queue } from '../../index.ts'
import { count, duration } from '../figures.ts'
import { all, type LookOptions, look, withLookOptions } from '../look.ts'
import { type Column, table } from '../output.ts'

const COLUMNS: Column<Queue>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SIZE', of: ({ size }) => count(size), right: true },
  { title: 'LATENCY', of: ({ latency }) => duration(latency), right: true },
]

export function register(program: Command): void {
  withLookOptions(program.command('queues'))
    .description('the queues, how long they are, and how long the next job has waited')
    .addHelpText('after', '\nExamples:\n  highkiq queues\n  highkiq queues --json\n')
    .action((options: LookOptions) => look(options, { get: (hq) => all(hq.queues()), text }))
}

function text(queues: Queue[]): string {
  return queues.length > 0 ? table(COLUMNS, queues) : 'no queues'
}
