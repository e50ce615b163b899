/** `highkiq metrics`: which classes take the time, and how long one takes. */

import type { Command } from 'commander'
import type { JobMetrics, TopJob, TopJobs } from '../../index.ts'
import { count, duration } from '../figures.ts'
import { type LookOptions, look, withLookOptions } from '../look.ts'
import { type Column, pairs, table, time } from '../output.ts'
import { CliError, wholeNumber } from '../usage.ts'

const WIDEST_BAR = 40

interface MetricsOptions extends LookOptions {
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
  withLookOptions(program.command('metrics'))
    .description('which classes took most of the time, or how long one took')
    .argument('[class]', 'the runs of this one, and how long they took')
    .option('--minutes <n>', 'of the last minutes, at most 480', wholeNumber)
    .option('--hours <n>', 'of the last hours, at most 72 (not with a class)', wholeNumber)
    .option('--filter <text>', 'only classes whose names contain it')
    .addHelpText(
      'after',
      '\nWhat ended is told every ten seconds.\n\nExamples:\n  highkiq metrics --hours 24\n  highkiq metrics HardJob --minutes 10 --watch\n',
    )
    .action((name: string | undefined, options: MetricsOptions) => {
      const { minutes, hours, filter, ...how } = options
      if (minutes !== undefined && hours !== undefined) throw new CliError('--minutes or --hours, not both', 2)
      if (name === undefined) {
        return look(how, { get: (hq) => hq.metrics.top(given({ minutes, hours, filter })), text: topText })
      }
      if (hours !== undefined) throw new CliError('one class is kept by the minute: give --minutes, at most 480', 2)
      if (filter !== undefined) throw new CliError('--filter is for many classes, not for one', 2)
      return look(how, { get: (hq) => hq.metrics.job(name, given({ minutes })), text: jobText })
    })
}

/** Without what was left out. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function topText({ from, to, jobs }: TopJobs): string {
  const since = `from ${time(from)} to ${time(to)}`
  return jobs.length > 0 ? `${since}\n\n${table(COLUMNS, jobs)}` : `nothing ended ${since}`
}

function jobText({ name, from, to, processed, failed, success, seconds, average, ...rest }: JobMetrics): string {
  const since = `${name}, from ${time(from)} to ${time(to)}`
  if (processed === 0) return `${since}: nothing ended`
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

/** Run times are short: below a second in milliseconds. */
function briefly(seconds: number | null): string {
  if (seconds === null) return '–'
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : duration(seconds)
}
