/** `highkiq edit` changes the arguments of a job, and `highkiq duplicate` pushes a job again. */

import { type Command, InvalidArgumentError } from 'commander'
import type { Duration } from '../../job/duration.ts'
import { given } from '../../job/options.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { printResult } from '../output.ts'
import { CliError, collect } from '../usage.ts'
import { argument, date, inOption, priority } from './enqueue.ts'

const EDIT_EXAMPLES = `
The arguments replace all that the job has. Each is parsed as JSON. Anything that is not valid JSON is passed as a string.
The job keeps its place: in its queue, among the retries, the scheduled or the dead.

Examples:
  highkiq edit 5f9c3b0a7d2e41c68b1a90ff bob 6
  highkiq edit 5f9c3b0a7d2e41c68b1a90ff --args '["bob", 6]'
  highkiq edit 5f9c3b0a7d2e41c68b1a90ff 7 '[encrypted]'      (keeps the encrypted argument; needs no key)
`

const DUPLICATE_EXAMPLES = `
The new job has the class, arguments and options of the other one, which stays. It is due now and has not failed.
The options change the new job.

Examples:
  highkiq duplicate 5f9c3b0a7d2e41c68b1a90ff
  highkiq duplicate 5f9c3b0a7d2e41c68b1a90ff --args '["bob", 6]' --queue low --in 10m --tag again
`

export function register(program: Command): void {
  withAppOptions(
    program
      .command('edit')
      .description('give a job in a queue or a job set other arguments')
      .argument('<jid>', 'id of the job')
      .argument('[args...]', 'all its arguments'),
  )
    .option('--args <json>', 'all its arguments, as a JSON array', list)
    .option('--json', 'as JSON')
    .addHelpText('after', EDIT_EXAMPLES)
    .action((jid: string, words: string[], { json, args, ...options }: AppOptions & { args?: unknown[] }) => {
      if ((args === undefined) === (words.length === 0)) {
        const how = args === undefined ? "; --args '[]' means none" : ' (got both)'
        throw new CliError(`give the arguments of the job as words or as --args JSON${how}`, 2)
      }
      return withExistingStore(options, async (hq) => {
        const values = args ?? words.map((text) => (text === KEPT ? text : argument(text)))
        if (await hq.edit(jid, values)) printResult(json, { jid }, 'edited')
        else throw new CliError(`job ${jid} has moved meanwhile: try again`)
      })
    })
  withAppOptions(
    program
      .command('duplicate')
      .description('push a job again as a new job, whatever its state')
      .argument('<jid>', 'id of the job'),
  )
    .option('--args <json>', 'all its arguments, as a JSON array', list)
    .option('-q, --queue <name>', 'another queue')
    .option('--priority <n>', '0 to 9, in its queue', priority)
    .option('--tag <tag>', 'a tag in place of those of the other job; can be repeated', collect)
    .addOption(inOption())
    .option('--at <time>', 'run it at this time (ISO 8601)', date)
    .option('--json', 'as JSON')
    .addHelpText('after', DUPLICATE_EXAMPLES)
    .action((jid: string, { json, args, queue, priority, tag, in: wait, at, ...options }: DuplicateOptions) =>
      withExistingStore(options, async (hq) => {
        const changes = given({ args, queue, priority, tags: tag, wait: wait as Duration | undefined, waitUntil: at })
        const copy = await hq.duplicate(jid, changes)
        if (copy === null) throw new CliError('the job was not pushed: client middleware filtered it')
        printResult(json, { jid: copy }, copy)
      }),
    )
}

const KEPT = '[encrypted]'

interface DuplicateOptions extends AppOptions {
  args?: unknown[]
  queue?: string
  priority?: number
  tag?: string[]
  in?: string
  at?: Date
}

/** Reads a JSON array. */
function list(text: string): unknown[] {
  const value = argument(text)
  if (Array.isArray(value)) return value
  throw new InvalidArgumentError('It must be a JSON array, one element for each argument.')
}
