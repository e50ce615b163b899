/** `highkiq limits` shows the limits that are in use; `set` and `reset` change their numbers without a deploy. */

import type { Command } from 'commander'
import type { Highkiq, LimitInfo } from '../../index.ts'
import { given } from '../../job/options.ts'
import { quoted } from '../../job/shell.ts'
import { limitName } from '../limit-name.ts'
import { withExistingStore } from '../open-app.ts'
import { type Column, count, duration, printResult, table } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { wholeNumber } from '../usage.ts'

const COLUMNS: Column<LimitInfo>[] = [
  { title: 'LIMIT', of: limitName },
  { title: 'KEY', of: ({ key }) => key ?? '', flexible: true },
  { title: 'USED', of: ({ used, concurrency }) => (concurrency === null ? '' : count(used)), right: true },
  { title: 'MAX', of: ({ concurrency }) => (concurrency === null ? '' : count(concurrency)), right: true },
  {
    title: 'RATE',
    of: ({ rate, per }) => (rate === null || per === null ? '' : `${count(rate)} in ${duration(per)}`),
    right: true,
  },
  { title: 'WAITING', of: ({ waiting }) => count(waiting), right: true },
  { title: 'NEXT START', of: ({ nextStart }) => (nextStart === null ? '' : startsIn(nextStart)), right: true },
  { title: '', of: ({ set }) => (set ? 'set' : '') },
]

function startsIn(seconds: number): string {
  return seconds === 0 ? 'now' : `in ${duration(seconds)}`
}

const ID = 'app (all jobs), queue:NAME, job:NAME, job:NAME#2 (its second limit) or shared:NAME (of hq.limit)'

const SET_EXAMPLES = `
Workers use the numbers within seconds, and also after a restart or a deploy. A number that you leave out stays as it is,
and code, as in --rate code, goes back to the number in the code. A queue, a job and app need no limit in
the code. A limit with keys has these numbers for each key.

Examples:
  highkiq limits set queue:mail --concurrency 5
  highkiq limits set shared:stripe --rate 100 --per 1m --burst 10
  highkiq limits set app --concurrency 200
  highkiq limits reset queue:mail
`

export function register(program: Command): void {
  const command = withShowOptions(program.command('limits'))
    .description('limits in use, with their slots and the number of jobs that wait for them')
    .addHelpText(
      'after',
      '\nExamples:\n  highkiq limits\n  highkiq limits --json\n  highkiq limits set queue:mail --concurrency 5\n',
    )
    .action((options: ShowOptions) =>
      show(options, {
        get: (hq) => hq.limits.list(),
        text: (limits) => table(COLUMNS, limits, 'no limited job runs or waits now, and no numbers were set'),
      }),
    )
  command
    .command('set')
    .description('change numbers of a limit on all workers, without a deploy')
    .argument('<limit>', ID)
    .option('--concurrency <n>', 'jobs that run at the same time', wholeNumberOrCode)
    .option('--rate <n>', 'jobs that start within --per', wholeNumberOrCode)
    .option('--per <time>', 'time of --rate: 30s, 1m, 1h or 1d')
    .option('--burst <n>', 'jobs that start at once after a pause', wholeNumberOrCode)
    .addHelpText('after', SET_EXAMPLES)
    .action((id: string, settings: Record<string, unknown>, self: Command) =>
      change(self, id, async (hq) => {
        const numbers = Object.entries(given(settings, ['concurrency', 'rate', 'per', 'burst']))
        await hq.limits.set(id, Object.fromEntries(numbers.map(([name, n]) => [name, n === 'code' ? null : n])))
        return `${id} is set; to reset: highkiq limits reset ${quoted(id)}`
      }),
    )
  command
    .command('reset')
    .description('go back to the numbers in the code')
    .argument('<limit>', ID)
    .addHelpText('after', '\nExamples:\n  highkiq limits reset queue:mail\n')
    .action((id: string, _: object, self: Command) =>
      change(self, id, async (hq) =>
        (await hq.limits.reset(id)) ? `${id} has the numbers of the code again` : `${id} was not set`,
      ),
    )
}

/** Reads a number, or `code`, which stands for the number in the code. */
function wholeNumberOrCode(text: string): number | 'code' {
  return text === 'code' ? text : wholeNumber(text)
}

function change(self: Command, id: string, run: (hq: Highkiq) => Promise<string>): Promise<void> {
  const { json, ...options }: ShowOptions = self.optsWithGlobals()
  return withExistingStore(options, async (hq) => {
    const text = await run(hq)
    const limit = (await hq.limits.list()).find((one) => one.id === id)
    printResult(json, { limit: id, set: limit?.set ?? null }, text)
  })
}
