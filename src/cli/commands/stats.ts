/** `highkiq stats` shows the counts of the store. */

import type { Command } from 'commander'
import { workCommand } from '../../app/unserved-queues.ts'
import type { Highkiq } from '../../index.ts'
import { liveOwners, orphansOf } from '../../inspect/orphans.ts'
import { sameApp } from '../open-app.ts'
import { count, duration, pairs, plural } from '../output.ts'
import { adviceFor } from '../processes.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'

export function register(program: Command): void {
  withShowOptions(program.command('stats'))
    .description('counts of processed, failed, waiting and running jobs')
    .addHelpText('after', '\nExamples:\n  highkiq stats\n  highkiq stats --watch --url sqlite:/var/lib/shop/jobs.db\n')
    .action((options: ShowOptions) => show(options, { get: figures, text: (figures) => text(figures, options) }))
}

type Figures = Awaited<ReturnType<typeof figures>>

async function figures(hq: Highkiq) {
  const [counts, unservedQueues, orphans] = await Promise.all([
    hq.stats(),
    hq.processes().unservedQueues(),
    liveOwners(hq.store).then((owners) => orphansOf(hq.store, owners)),
  ])
  const stats = { ...counts, orphans }
  if (stats.processes > 0) return { ...stats, unservedQueues }
  const queues = (await hq.queueSummaries()).filter(({ size }) => size > 0)
  return { ...stats, unservedQueues: queues.map(({ name }) => name) }
}

function text({ ordered, unservedQueues, ...stats }: Figures, options: ShowOptions): string {
  const { total, queues } = ordered
  const table = pairs(
    [
      ['processed', count(stats.processed)],
      ['failed', count(stats.failed)],
      ['busy', count(stats.busy)],
      ['enqueued', count(stats.enqueued)],
      ['task backlog', count(stats.backlog)],
      ['limited', count(stats.limited)],
      ['scheduled', count(stats.scheduled)],
      ['retries', count(stats.retries)],
      ['dead', count(stats.dead)],
      ['processes', count(stats.processes)],
      ['default latency', duration(stats.defaultLatency)],
      ...(Object.keys(queues).length === 0 ? [] : orderedRows(total)),
    ],
    { right: true },
  )
  const { orphans } = stats
  const belong = `${plural(orphans.jobs, 'job belongs', 'jobs belong')} to ${plural(orphans.workers, 'worker')} that died`
  const died = orphans.jobs > 0 ? `\n${belong}: a running worker puts them back` : ''
  const waiting = stats.enqueued + stats.backlog + stats.limited + stats.scheduled + stats.retries + total.length
  if (stats.processes === 0 && waiting > 0) {
    const work = workCommand(unservedQueues, sameApp(options))
    return `${table}${died}\nno worker is running, and ${plural(waiting, 'job waits', 'jobs wait')}: start one with \`${work}\``
  }
  return `${table}${died}${unservedQueues.length > 0 ? `\n${adviceFor(unservedQueues)}` : ''}`
}

/** Counts of ids over all ordered queues. */
function orderedRows({ length, morgueLength, lag }: Figures['ordered']['total']): [string, string][] {
  return [
    ['ordered', count(length)],
    ['ordered morgue', count(morgueLength)],
    ['ordered lag', duration(lag)],
  ]
}
