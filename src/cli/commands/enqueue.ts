/** `highkiq enqueue`: pushes one job. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { PROGRAM } from '../../app.ts'
import { dueAt } from '../../job/duration.ts'
import { parseJson } from '../../job/json.ts'
import { jobsFileOf } from '../config/jobs-file.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { print, printJson } from '../output.ts'
import { CliError } from '../usage.ts'

interface EnqueueOptions extends AppOptions {
  queue?: string
  in?: string
  at?: Date
  json?: boolean
}

const EXAMPLES = `
Each argument is JSON; what is no JSON is a text. Without -r the options of the job come from jobs.ts or src/jobs.ts, if
there is one here; a class that no file defines is pushed by its name alone.

Examples:
  highkiq enqueue HardJob bob 5
  highkiq enqueue HardJob '{"id": 7}' --in 10m --queue low
  highkiq enqueue HardJob '"5"' --at 2026-12-01T08:00:00Z      (the text "5", not the number)
`

export function register(program: Command): void {
  withAppOptions(
    program
      .command('enqueue')
      .description('push a job; prints its id')
      .argument('<class>', 'name that the job was defined under')
      .argument('[args...]', 'its arguments'),
  )
    .option('-q, --queue <name>', "queue (default: the job's, else default)")
    .addOption(new Option('--in <duration>', 'later: seconds, or 90s, 10m, 2h, 1d').conflicts('at').argParser(duration))
    .addOption(new Option('--at <time>', 'at a time, ISO 8601').argParser(date))
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(enqueue)
}

async function enqueue(name: string, args: string[], options: EnqueueOptions): Promise<void> {
  const found = options.require ? undefined : jobsFileOf('.')
  const jid = await withApp(found ? { ...options, require: [found] } : options, (hq) => {
    // A job of the file has its options; a name that a file does not know which was named is a slip.
    if (options.require) hq.jobNamed(name)
    else if (found && !hq[PROGRAM].definitionOf(name, '') && !hq[PROGRAM].isOrdered(name)) {
      process.stderr.write(`highkiq: ${found} defines no job ${name}: it is pushed by its name alone\n`)
    }
    const at = options.at ?? options.in
    return hq.push({
      class: name,
      args: args.map(argument),
      ...(options.queue === undefined ? {} : { queue: options.queue }),
      ...(at === undefined ? {} : { at: dueAt(at, hq.now()) }),
    })
  })
  if (jid === null) throw new CliError('not pushed: client middleware stopped it')
  if (options.json) printJson({ jid })
  else print(jid)
}

export function argument(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    // What begins like JSON was meant to be JSON.
    if (/^[{["]/.test(text)) throw new CliError(`${text} is not JSON: look at its quotes and brackets`, 2)
    return text
  }
}

/** Kept as it is: when that is depends on when it is pushed. */
export function duration(text: string): string {
  const given = /^\d+(\.\d+)?$/.test(text) ? `${text}s` : text
  try {
    dueAt(given, 0)
    return given
  } catch {
    throw new InvalidArgumentError('It is a number of seconds, or for instance 90s, 10m, 2h, 1d, 1h 30m.')
  }
}

export function date(text: string): Date {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) throw new InvalidArgumentError('It is a time such as 2026-12-01T08:00:00Z.')
  return at
}
