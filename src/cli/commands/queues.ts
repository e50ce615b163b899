/** `highkiq queues | pause | resume` list, pause and resume queues; queue-rename.ts renames one. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Highkiq, QueueSummary } from '../../index.ts'
import { maxLengthsOf, processesOf } from '../../inspect/process.ts'
import { type QueueTrend, QueueTrends } from '../../inspect/queue-trend.ts'
import { quoted } from '../../job/shell.ts'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, count, duration, print, printJson, printResult, table } from '../output.ts'
import { served } from '../processes.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError } from '../usage.ts'
import { registerRename } from './queue-rename.ts'

/** The sizes are compared with those of this time before. */
const MEASURE_MS = 1000

type Shown = QueueSummary & { maxLength: number | null; trend: QueueTrend | null }

const COLUMNS: Column<Shown>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SIZE', of: sizeText, right: true },
  { title: 'LIMITED', of: ({ limited }) => count(limited), right: true },
  { title: 'LATENCY', of: ({ latency }) => duration(latency), right: true },
  { title: '', of: ({ paused, trend }) => [...(paused ? ['paused'] : []), ...trendText(trend)].join(', ') },
]

function sizeText({ size, maxLength }: Shown): string {
  return maxLength === null ? count(size) : `${count(size)} of ${count(maxLength)}`
}

function trendText(trend: QueueTrend | null): string[] {
  if (trend === null || trend.perMinute === 0) return []
  const { perMinute, emptyIn } = trend
  if (emptyIn === null) return [`growing by ${count(perMinute)} a minute`]
  return emptyIn > 0 ? [`empty in about ${duration(emptyIn)}`] : []
}

/** Returns a function that reads the queues with their trends since the call before; the first call measures for a second. */
function queueReader(): (hq: Highkiq) => Promise<Shown[]> {
  const trends = new QueueTrends()
  const read = async (hq: Highkiq) => {
    const queues = await hq.queueSummaries()
    trends.add(performance.now(), queues)
    return queues
  }
  return async (hq) => {
    let queues = await read(hq)
    if (queues.some(({ name, size }) => size > 0 && trends.of(name) === null)) {
      await sleep(MEASURE_MS)
      queues = await read(hq)
    }
    const maxLengths = maxLengthsOf(await processesOf(hq.store))
    return queues.map((queue) => {
      return { ...queue, maxLength: maxLengths.get(queue.name) ?? null, trend: trends.of(queue.name) }
    })
  }
}

export function register(program: Command): void {
  const command = withShowOptions(program.command('queues'))
    .description(
      'queues with their size (of their maxLength, if running workers know one), how many of these jobs wait for room in their limits, latency (how long the next job has waited), and whether they grow',
    )
    .addHelpText(
      'after',
      '\nIt measures for a second whether queues grow or when they will be empty; --watch, for up to a minute.\n\nExamples:\n  highkiq queues\n  highkiq queues --json\n  highkiq queues rename mail letters\n',
    )
    .action((options: ShowOptions) =>
      show(options, { get: queueReader(), text: (queues) => table(COLUMNS, queues, 'no queues') }),
    )
  registerRename(command)
}

function actionCommand(program: Command, name: string, description: string): Command {
  const command = program.command(name).description(description).argument('<queue>', 'name of the queue')
  return withAppOptions(command).option('--json', 'as JSON')
}

export function registerPause(program: Command): void {
  actionCommand(program, 'pause', 'stop workers from fetching jobs of a queue; running jobs finish')
    .addHelpText('after', '\nExamples:\n  highkiq pause low\n  highkiq resume low\n')
    .action(pause)
}

function pause(queue: string, { json, ...options }: AppOptions): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const isKnown = (await hq.queueSummaries()).some(({ name }) => name === queue) || (await served(hq)).has(queue)
    if (!isKnown && (await hq.orderedQueues()).includes(hq.ordered(queue).queue)) {
      throw new CliError(`${queue} is an ordered queue: highkiq ordered pause ${quoted(queue)}${sameApp(options)}`)
    }
    const { ignoredBy } = await hq.queue(queue).pause()
    if (json) return printJson({ queue, paused: true, ignoredBy })
    print(`${queue} is paused; to resume: highkiq resume ${quoted(queue)}${sameApp(options)}`)
    if (!isKnown) print(`no worker serves ${queue}, and it has no jobs: check its name`)
    for (const identity of ignoredBy)
      print(`${identity} is a Sidekiq process and may still fetch: only Sidekiq Pro supports pauses`)
  })
}

export function registerResume(program: Command): void {
  actionCommand(program, 'resume', 'let workers fetch from a paused queue again')
    .addHelpText('after', '\nExamples:\n  highkiq resume low\n')
    .action((queue: string, { json, ...options }: AppOptions) =>
      withExistingStore(options, async (hq) => {
        await hq.queue(queue).resume()
        printResult(json, { queue, paused: false }, `${queue} is resumed`)
      }),
    )
}
