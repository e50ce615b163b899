/** `highkiq ordered push` pushes one ordered job, or a file with one job on each line. */

import { open } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { HighkiqError, OrderedQueue } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import { given } from '../../job/options.ts'
import { io } from '../io.ts'
import { type AppOptions, withApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { plural, printResult } from '../output.ts'
import { CliError } from '../usage.ts'
import { argument, date, inOption } from './enqueue.ts'

interface PushOptions extends AppOptions {
  score?: number
  in?: string
  at?: Date
  wake?: boolean
  file?: string
}

const EXAMPLES = `
The payload is parsed as JSON. Anything that is not valid JSON is passed as a string.
A file (- is standard input) holds one object a line: {"id": 7, "payload": {"v": 3}}.
An object may also have score, performIn, performAt (ISO 8601) and wake.

Examples:
  highkiq ordered push SyncUser 7 '{"v": 3}' --score 3
  highkiq ordered push SyncUser 7 --in 5m
  highkiq ordered push SyncUser --file changes.ndjson
`

export function registerPush(ordered: Command): void {
  withAppOptions(ordered.command('push').description('push an ordered job, or many from a file'))
    .argument('<name>', 'name of the ordered queue')
    .argument('[id]', 'id of the entity that the job is about')
    .argument('[payload]', "payload of the job (default: '')")
    .option('--score <number>', 'order among the payloads of the id (default: now)', score)
    .addOption(inOption())
    .option('--at <time>', 'run it at this time (ISO 8601)', date)
    .option('--wake', 'let an id that waits for a later time run at this time')
    .option('--file <path>', 'NDJSON file with one job a line; - for standard input')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(push)
}

function score(text: string): number {
  const n = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(n)) return n
  throw new InvalidArgumentError('It must be a number, such as a version.')
}

function push(name: string, id: string | undefined, payload: string | undefined, options: PushOptions): Promise<void> {
  const { file, json, score: place, in: delay, at, wake } = options
  if ((id === undefined) === (file === undefined)) {
    throw new CliError('give an id (highkiq ordered push NAME ID [PAYLOAD]) or --file', 2)
  }
  const withStore = options.require ? withApp : withExistingStore
  return withStore(options, async (hq) => {
    const queue = hq.ordered(name)
    const pushed =
      file === undefined
        ? await queue.performAsync({
            id: id as string,
            ...given({ score: place, performIn: delay, performAt: at, wake }),
            ...(payload === undefined ? {} : { payload: argument(payload) }),
          })
        : await pushFile(queue, file)
    printResult(json, { pushed }, `${plural(pushed, 'job')} pushed to ${queue.queue}`)
  })
}

async function pushFile(queue: OrderedQueue, file: string): Promise<number> {
  const [{ readLines }, { pushLines }] = await Promise.all([
    import('../../http/server/body.ts'),
    import('../../http/routes/ordered-push.ts'),
  ])
  const input = file === '-' ? io().stdin : (await open(file)).createReadStream()
  try {
    return await pushLines(queue, readLines(input, Number.POSITIVE_INFINITY))
  } catch (thrown) {
    const { pushed } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
    if (pushed === undefined) throw thrown
    throw new CliError(`${messageOf(thrown)} (${pushed} jobs were stored before the error)`)
  }
}
