/** `highkiq events` follows the events of jobs. */

import type { Command } from 'commander'
import { JOB_EVENT_KINDS } from '../../events/job-event.ts'
import type { Highkiq, JobEvent, JobEventKind } from '../../index.ts'
import { given } from '../../job/options.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { plain, print, printJson, time } from '../output.ts'
import { onInterrupt } from '../terminal.ts'
import { collect, someOf } from '../usage.ts'

interface EventsOptions extends AppOptions {
  job?: string[]
  queue?: string[]
  kind?: JobEventKind[]
  after?: string
}

const EXAMPLES = `
Examples:
  highkiq events --follow
  highkiq events --job Import --kind failed,died --json
  highkiq events --after 1763912345678901-1x2y3z      (behind the event with this id, the last of its line)
`

export function register(program: Command): void {
  withAppOptions(program.command('events').description('follow what happens to jobs, in all processes, until Ctrl-C'))
    .option('-f, --follow', 'wait for further events (always so)')
    .option('--job <name>', 'only events of this job; can be repeated', collect)
    .option('-q, --queue <name>', 'only events of jobs in this queue; can be repeated', collect)
    .option('--kind <kinds>', `only these, with commas: ${JOB_EVENT_KINDS.join(', ')}`, someOf(JOB_EVENT_KINDS))
    .option('--after <id>', 'begin behind the event with this id')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', EXAMPLES)
    .action(events)
}

async function events({ job: jobs, queue: queues, kind: kinds, after, json, ...options }: EventsOptions) {
  const interrupt = onInterrupt()
  try {
    const { signal } = interrupt
    const follow = (hq: Highkiq) => hq.events({ ...given({ jobs, queues, kinds, after }), signal })
    await withExistingStore(options, async (hq) => {
      for await (const event of follow(hq)) {
        if (json) printJson(event)
        else print(lineOf(event))
      }
    })
  } finally {
    interrupt.release()
  }
}

function lineOf({ id, at, kind, job, jid, queue, attempt, progress, error, due, reason }: JobEvent): string {
  const words = [
    ...[time(at), kind.padEnd(9), job, jid, queue],
    ...(attempt !== undefined && attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(progress ? [JSON.stringify(progress)] : []),
    ...(error ? [`${error.class}: ${error.message}`] : []),
    ...(due ? [`due ${time(due)}`] : []),
    ...(reason ? [`(${reason})`] : []),
    `id ${id}`,
  ]
  return plain(words.join(' '))
}
