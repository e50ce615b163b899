/** `highkiq batches push` creates a batch from a JSON file. */

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { messageOf } from '../../job/errors.ts'
import { parseJson } from '../../job/json.ts'
import { jobsFileOf } from '../config/jobs-file.ts'
import { io } from '../io.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { plural, printResult } from '../output.ts'
import { CliError } from '../usage.ts'

const EXAMPLES = `
The file (- is standard input) holds the body of POST /api/v1/batches, one JSON object:
{"jobs": [{"class": "ImportShop", "args": [1]}], "onSuccess": {"class": "SendReport"}}
A job may also have queue, priority, at, in, jid, tags and so on. The batch may have description, data, keep,
onSuccess, onComplete and onDeath, whose jobs get the bid before their own args.
Without -r the options of the jobs come from jobs.ts or src/jobs.ts in this folder.

Examples:
  highkiq batches push shops.json
  make-batch | highkiq batches push - --json
`

export function registerPush(batches: Command): void {
  withAppOptions(
    batches
      .command('push')
      .description('create a batch of jobs from a JSON file, and print its bid')
      .argument('<file>', 'JSON file; - for standard input'),
  )
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(push)
}

async function push(file: string, options: AppOptions & { json?: boolean }): Promise<void> {
  const [{ checked }, { NewBatch }, { pushBatch }] = await Promise.all([
    import('../../http/server/schema.ts'),
    import('../../http/schemas/new-jobs.ts'),
    import('../../batches/from-json.ts'),
  ])
  const content = await (file === '-' ? text(io().stdin) : readFile(file, 'utf8')).catch((thrown) => {
    throw new CliError(`can't read ${file}: ${messageOf(thrown)}`)
  })
  const body = checked(NewBatch, parsed(content, file), 'the batch')
  const found = options.require ? undefined : jobsFileOf('.')
  const pushed = await withApp(found ? { ...options, require: [found] } : options, (hq) => pushBatch(hq, body))
  const { bid, existing = [] } = pushed
  if (existing.length > 0) {
    io().stderr.write(`highkiq: not pushed, because earlier jobs have their locks: ${plural(existing.length, 'job')}\n`)
  }
  printResult(options.json, pushed, bid)
}

function parsed(content: string, file: string): unknown {
  try {
    return parseJson(content)
  } catch (thrown) {
    throw new CliError(`${file} is not valid JSON: ${messageOf(thrown)}`, 2)
  }
}
