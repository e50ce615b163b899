/** `highkiq doctor` examines the store, the workers and the jobs, and says what to do. */

import type { Command } from 'commander'
import { type Diagnosis, examine } from '../../doctor/examine.ts'
import type { Severity } from '../../store/contract.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, checkStoreExists, sameApp, withApp, withAppOptions } from '../open-app.ts'
import { pairs, plain, plural, printResult } from '../output.ts'

/** The codes that monitoring programs of Nagios' kind expect. */
const EXIT_CODES: Record<Severity, number> = { ok: 0, warning: 1, error: 2 }
const INDENT = ' '.repeat('warning  '.length)

const EXAMPLES = `
Exit code: 0 nothing was found, 1 there are warnings, 2 there are errors or the command was wrong.
It writes one lock into the store and removes it again; it changes nothing else.

Examples:
  highkiq doctor
  highkiq doctor --url redis://localhost:6379 --json
`

export function register(program: Command): void {
  withAppOptions(program.command('doctor'))
    .description('examine the store, the workers and the jobs, and say what to do; for monitoring, too')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action((options: AppOptions) =>
      withApp(options, async (hq) => {
        const checkStore = () => checkStoreExists(hq, options)
        const diagnosis = await examine(hq, { app: sameApp(options), checkStore, lockKey: (key) => key })
        printResult(options.json, diagnosis, textOf(diagnosis))
        setExitCode(EXIT_CODES[diagnosis.status])
      }),
    )
}

function textOf({ findings, store }: Diagnosis): string {
  const rows = findings.map(({ severity, check, text }) => [severity.padEnd(7), `${check}: ${plain(text)}`] as const)
  const lines = pairs(rows).split('\n')
  const shown = lines.flatMap((line, i) => {
    const { advice } = findings[i] as (typeof findings)[number]
    return advice ? [line, `${INDENT}${plain(advice)}`] : [line]
  })
  const number = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length
  const [errors, warnings] = [number('error'), number('warning')]
  const sum =
    errors + warnings === 0 ? 'nothing was found' : `${plural(errors, 'error')}, ${plural(warnings, 'warning')}`
  return [...shown, '', `${store}: ${sum}`].join('\n')
}
