/** `highkiq queues`: what waits where. */

import type { Command } from 'commander'
import type { QueueSummary } from '../../index.ts'
import { count, duration } from '../figures.ts'
import { type LookOptions, look, withLookOptions } from '../look.ts'
import { type Column, table } from '../output.ts'

const COLUMNS: Column<QueueSummary>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SIZE', of: ({ size }) => count(size), right: true },
  { title: 'LATENCY', of: ({ latency }) => duration(latency), right: true },
  { title: '', of: ({ paused }) => (paused ? 'paused' : '') },
]

export function register(program: Command): void {
  withLookOptions(program.command('queues'))
    .description('the queues, how long they are, and how long the next job has waited')
    .addHelpText('after', '\nExamples:\n  highkiq queues\n  highkiq queues --json\n')
    .action((options: LookOptions) => look(options, { get: (hq) => hq.queueSummaries(), text }))
}

function text(queues: QueueSummary[]): string {
  return queues.length > 0 ? table(COLUMNS, queues) : 'no queues'
}
