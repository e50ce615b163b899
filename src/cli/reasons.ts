/** Counts rejected rows of a task by reason, most frequent first, with an example message each. */

import { type Command, Option } from 'commander'
import type { CodeFilter, ReasonCount, Task, TaskEvent } from '../index.ts'
import { reasonFilter } from '../tasks/event.ts'
import { reasonOf } from './outcome.ts'
import { count, table } from './output.ts'

const SHOWN = 10

export interface Reason extends ReasonCount {
  /** Message of the first row with this reason. */
  example: string | null
}

export async function reasonsOf(task: Task): Promise<Reason[]> {
  const reasons = await task.reasons()
  return Promise.all(
    reasons.map(async (reason, n) => ({ ...reason, example: n < SHOWN ? await exampleOf(task, reason) : null })),
  )
}

async function exampleOf(task: Task, { status, ...reason }: ReasonCount): Promise<string | null> {
  for await (const event of task.events({ status: [status], ...reasonFilter(reason) })) {
    return reasonOf({ ...event, code: null } as TaskEvent)
  }
  return null
}

export function reasonsText(reasons: readonly Reason[]): string {
  const columns = [
    { title: 'ROWS', of: (reason: Reason) => count(reason.count), right: true },
    { title: 'STATUS', of: ({ status }: Reason) => status },
    { title: 'CODE', of: ({ code, otherCodes }: Reason) => (otherCodes ? '(other codes)' : (code ?? '')) },
    { title: 'EXAMPLE', of: ({ example }: Reason) => example ?? '' },
  ]
  const more = reasons.length > SHOWN ? `\n… and ${count(reasons.length - SHOWN)} more reasons` : ''
  return table(columns, reasons.slice(0, SHOWN)) + more
}

export interface CodeOptions {
  code?: string
  withoutCode?: boolean
  otherCodes?: boolean
}

/** Adds the options that select rows by code. `which` names the rows in the help, as "those" does. */
export function withCodeOptions(command: Command, which: string): Command {
  return command
    .option('--code <code>', `only ${which} with this reason`)
    .addOption(new Option('--without-code', `only ${which} without a code`).conflicts('code'))
    .addOption(
      new Option(
        '--other-codes',
        `only ${which} with codes that are counted together (Redis, above 255 a status)`,
      ).conflicts(['code', 'withoutCode']),
    )
}

export function codeFilter({ code, withoutCode, otherCodes }: CodeOptions): CodeFilter {
  if (otherCodes) return { otherCodes }
  if (withoutCode) return { code: null }
  return code === undefined ? {} : { code }
}
