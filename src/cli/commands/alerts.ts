/** `highkiq alerts` lists what needs attention, and sends test messages. */

import type { Command } from 'commander'
import { PROGRAM } from '../../app.ts'
import type { OpenAlert, TestResult } from '../../index.ts'
import { configFile } from '../config/resolve.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { type Column, duration, plain, printResult, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'

const ALERTS: Column<OpenAlert>[] = [
  { title: 'ALERT', of: ({ title }) => plain(title) },
  { title: 'WHAT', of: ({ text }) => plain(text), flexible: true },
  { title: 'SENT AS SINCE', of: ({ since }) => (since ? time(since) : ''), optional: true },
]

const RESULTS: Column<TestResult>[] = [
  { title: 'TARGET', of: ({ target }) => plain(target) },
  { title: 'RESULT', of: ({ error, took }) => error ?? `sent in ${duration(took / 1000)}` },
]

const LIST_EXAMPLES = `
That a queue grows is known when a worker with the option alerts has watched it for five minutes.

Examples:
  highkiq alerts
  highkiq alerts --json
`

const TEST_EXAMPLES = `
The targets are those of the app's option alerts, or of the key alerts in the configuration file.
The exit code is 1 when a target did not accept the message.

Examples:
  highkiq alerts test -r jobs.ts
  highkiq alerts test -C config/highkiq.yml
`

export function register(program: Command): void {
  const alerts = withShowOptions(program.command('alerts'))
    .description('what needs attention now')
    .addHelpText('after', LIST_EXAMPLES)
    .action((options: ShowOptions) =>
      show(options, {
        get: (hq) => hq.alerts.now(),
        text: (found) => table(ALERTS, found, 'nothing needs attention'),
      }),
    )
  withAppOptions(alerts.command('test').description('send a test message to each target, and say what happened'))
    .option('-C, --config <path>', 'configuration file (default: the one that highkiq work reads)')
    .option('--json', 'as JSON')
    .addHelpText('after', TEST_EXAMPLES)
    .action((_: object, self: Command) => {
      const options = self.optsWithGlobals() as AppOptions & { config?: string }
      return withApp(options, async (hq) => {
        const file = await configFile(options)
        hq[PROGRAM].useFile({ alerts: file?.settings.alerts }, {})
        const results = await hq.alerts.test()
        printResult(options.json, results, table(RESULTS, results))
        if (results.some(({ error }) => error !== null)) setExitCode(1)
      })
    })
}
