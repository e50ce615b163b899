/** `highkiq metrics` shows which job classes take the most time, and the run times of one class. */

import type { Command } from 'commander'
import type { JobMetrics, TopJob, TopJobs } from '../../index.ts'
import { given } from '../../job/options.ts'
import { type Column, count, duration, pairs, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError, wholeNumber } from '../usage.ts'

const WIDEST_BAR = 40

interface MetricsOptions extends ShowOptions {
  minutes?: number
  hours?: number
  filter?: string
}

const COLUMNS: Column<TopJob>[] = [
  { title: 'CLASS', of: ({ name }) => name },
  { title: 'SUCCESS', of: ({ success }) => count(success), right: true },
  { title: 'FAILURE', of: ({ failed }) => count(failed), right: true },
  { title: 'TIME', of: ({ seconds }) => duration(seconds), right: true },
  { title: 'AVERAGE', of: ({ average, success }) => (success > 0 ? briefly(average) : ''), right: true },
]

export function register(program: Command): void {
  withShowOptions(program.command('metrics'))
    .description('job classes by total run time, or the run times of one class')
    .argument('[class]', 'show only this class, with a histogram of its run times')
    .option('--minutes <n>', 'cover the last n minutes, at most 480', wholeNumber)
    .option('--hours <n>', 'cover the last n hours, at most 72', wholeNumber)
    .option('--filter <text>', 'only classes whose names contain this text')
    .addHelpText(
      'after',
      '\nWorkers write their metrics every 10 seconds.\n\nExamples:\n  highkiq metrics --hours 24\n  highkiq metrics HardJob --minutes 10 --watch\n',
    )
    .action((name: string | undefined, options: MetricsOptions) => {
      const { minutes, hours, filter, ...how } = options
      if (minutes !== undefined && hours !== undefined) throw new CliError('use --minutes or --hours, not both', 2)
      if (name === undefined) {
        return show(how, { get: (hq) => hq.metrics.top(given({ minutes, hours, filter })), text: topText })
      }
      if (filter !== undefined) throw new CliError('--filter does not work with a class', 2)
      return show(how, { get: (hq) => hq.metrics.job(name, given({ minutes, hours })), text: jobText })
    })
}

function topText({ from, to, jobs }: TopJobs): string {
  const since = `from ${time(from)} to ${time(to)}`
  return jobs.length > 0 ? `${since}\n\n${table(COLUMNS, jobs)}` : `no jobs ended ${since}`
}

function jobText({ name, from, to, processed, failed, success, seconds, average, ...rest }: JobMetrics): string {
  const since = `${name}, from ${time(from)} to ${time(to)}`
  if (processed === 0) return `${since}: no jobs ended`
  const figures = pairs([
    ['success', count(success)],
    ['failure', count(failed)],
    ['time', duration(seconds)],
    ['average', success > 0 ? briefly(average) : '–'],
    ...(['p50', 'p95', 'p99'] as const).map((p) => [p, briefly(rest[p])] as const),
  ])
  const filled = rest.histogram.filter((bucket) => bucket.count > 0)
  const most = Math.max(...filled.map((bucket) => bucket.count))
  const bars = filled.map(
    (bucket) =>
      [
        bucket.label === 'Slow' ? 'slower' : `below ${bucket.label}`,
        `${'█'.repeat(Math.ceil((bucket.count / most) * WIDEST_BAR))} ${count(bucket.count)}`,
      ] as const,
  )
  const deploys = rest.deploys.map(({ at, label }) => [time(at), `deployed ${label}`] as const)
  return [since, figures, ...[bars, deploys].filter(({ length }) => length > 0).map((rows) => pairs(rows))].join('\n\n')
}

/** Formats a run time, in milliseconds below one second. */
function briefly(seconds: number | null): string {
  if (seconds === null) return '–'
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : duration(seconds)
}
