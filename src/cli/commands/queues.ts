/** `highkiq queues` lists the queues with their sizes and latencies. */

import type { Command } from 'commander'
import type { QueueSummary } from '../../index.ts'
import { type Column, count, duration, table } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'

const COLUMNS: Column<QueueSummary>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SIZE', of: ({ size }) => count(size), right: true },
  { title: 'LATENCY', of: ({ latency }) => duration(latency), right: true },
  { title: '', of: ({ paused }) => (paused ? 'paused' : '') },
]

export function register(program: Command): void {
  withShowOptions(program.command('queues'))
    .description('queues with their size and latency (how long the next job has waited)')
    .addHelpText('after', '\nExamples:\n  highkiq queues\n  highkiq queues --json\n')
    .action((options: ShowOptions) => show(options, { get: (hq) => hq.queueSummaries(), text }))
}

function text(queues: QueueSummary[]): string {
  return queues.length > 0 ? table(COLUMNS, queues) : 'no queues'
}
