/** `highkiq enqueue` pushes one job. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { PROGRAM } from '../../app.ts'
import { dueAt } from '../../job/duration.ts'
import { parseJson } from '../../job/json.ts'
import { given, meantBy } from '../../job/options.ts'
import type { OnConflict, Unique, UniqueOptions } from '../../job/unique.ts'
import { jobsFileOf } from '../config/jobs-file.ts'
import { io } from '../io.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { printResult } from '../output.ts'
import { CliError } from '../usage.ts'

interface EnqueueOptions extends AppOptions {
  queue?: string
  priority?: number
  in?: string
  at?: Date
  jid?: string
  unique?: string
  uniqueBy?: string
  onConflict?: OnConflict
}

const EXAMPLES = `
Each argument is parsed as JSON. Anything that is not valid JSON is passed as a string.
Without -r the options of the job come from jobs.ts or src/jobs.ts in this folder.
A job that no file defines is pushed with the default options.

Examples:
  highkiq enqueue HardJob bob 5
  highkiq enqueue HardJob '{"id": 7}' --in 10m --queue low
  highkiq enqueue HardJob '{"id": 7}' --priority 9          (before the other jobs of its queue)
  highkiq enqueue Reindex '{"shop": 7}' --unique until-start --unique-by 0.shop
  highkiq enqueue HardJob '"5"' --at 2026-12-01T08:00:00Z      (the string "5", not the number)
`

export function register(program: Command): void {
  withAppOptions(
    program
      .command('enqueue')
      .description('push a job and print its id')
      .argument('<class>', 'name of the job')
      .argument('[args...]', 'arguments of the job'),
  )
    .option('-q, --queue <name>', "queue to push to (default: the job's own, else default)")
    .option('--priority <n>', "0 to 9, in its queue (default: the job's own, else 0)", priority)
    .addOption(inOption())
    .option('--at <time>', 'run it at this time (ISO 8601)', date)
    .option('--jid <id>', 'id of the job, which is not stored again while a job with this id waits or runs')
    .option('--unique <for>', 'how long it keeps its lock: until-success, until-start, pending, or 90s, 10m, 2h', span)
    .option('--unique-by <path>', 'what is unique in the arguments, such as 0.customer (default: all)')
    .addOption(
      new Option('--on-conflict <how>', 'if another job has the lock of this unique one (default: drop)').choices([
        ...['drop', 'raise', 'replace', 'debounce'],
      ]),
    )
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(enqueue)
}

async function enqueue(name: string, args: string[], options: EnqueueOptions): Promise<void> {
  const found = options.require ? undefined : jobsFileOf('.')
  const { jid, existing } = await withApp(found ? { ...options, require: [found] } : options, async (hq) => {
    // With -r the name must be defined: one that the file does not define is probably mistyped.
    if (options.require) hq.jobNamed(name)
    else if (found && !hq[PROGRAM].definitionOf(name, '') && !hq[PROGRAM].isOrdered(name)) {
      const meant = meantBy(
        name,
        hq[PROGRAM].jobs().map((job) => job.name),
      )
      const hint = meant ? ` (did you mean ${meant}?)` : ''
      io().stderr.write(
        `highkiq: ${found} does not define ${name}${hint}; the job is pushed with the default options\n`,
      )
    }
    const at = options.at ?? options.in
    return hq[PROGRAM].pushed({
      class: name,
      args: args.map(argument),
      ...given({ queue: options.queue, priority: options.priority, jid: options.jid, unique: uniqueOf(options) }),
      ...(at === undefined ? {} : { at: dueAt(at, hq.now()) }),
    })
  })
  if (jid === null) throw new CliError('the job was not pushed: client middleware filtered it')
  const why = jid === options.jid ? 'waits or runs already' : 'has the lock of this unique job'
  if (existing) io().stderr.write(`highkiq: not pushed: job ${jid} ${why}\n`)
  printResult(options.json, { jid, ...(existing ? { existing } : {}) }, jid)
}

/** Each of the options makes the job unique. */
function uniqueOf({ unique, uniqueBy, onConflict }: EnqueueOptions): Unique | undefined {
  const about = given({ for: unique as UniqueOptions['for'], by: uniqueBy, onConflict })
  return Object.keys(about).length > 0 ? about : undefined
}

/** Checks how long a lock is kept, and returns it unchanged. */
function span(text: string): string {
  return ['until-success', 'until-start', 'pending'].includes(text) ? text : duration(text)
}

export function priority(text: string): number {
  if (/^\d$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 0 to 9.')
}

export function argument(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    // An argument that starts like JSON was probably meant to be JSON.
    if (/^[{["]/.test(text)) throw new CliError(`${text} is not valid JSON: check its quotes and brackets`, 2)
    return text
  }
}

export function inOption(): Option {
  const option = new Option('--in <duration>', 'run it after this time: seconds, or 90s, 10m, 2h, 1d')
  return option.conflicts('at').argParser(duration)
}

/** Checks a duration and returns it unchanged: it counts from the push. */
function duration(text: string): string {
  const given = /^\d+(\.\d+)?$/.test(text) ? `${text}s` : text
  try {
    dueAt(given, 0)
    return given
  } catch {
    throw new InvalidArgumentError('It must be a number of seconds, or a duration such as 90s, 10m, 2h, 1d, 1h 30m.')
  }
}

const ISO_8601 = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i

export function date(text: string): Date {
  // `Date` alone takes nearly everything: 5 is a day in 2001, and February 30 a day in March.
  const at = new Date(ISO_8601.test(text) ? text : Number.NaN)
  const day = new Date(`${text.slice(0, 10)}T00:00Z`)
  if (Number.isNaN(at.getTime()) || day.getUTCDate() !== Number(text.slice(8, 10))) {
    throw new InvalidArgumentError('It must be a time in ISO 8601, such as 2026-12-01T08:00:00Z.')
  }
  return at
}
