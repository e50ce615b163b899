/** `highkiq init` adds jobs, a worker and what belongs to them to an existing project. `npm create highkiq` makes a new one. */

import { type Command, Option } from 'commander'
import { importUnbundled, packageFile } from '../../load/package.ts'
import { type Io, io } from '../io.ts'
import { CliError } from '../usage.ts'

/** What `create-highkiq/commands.js` has for this command. */
interface Starter {
  init(options: { store?: string; folder: string }, streams: Io): Promise<void>
  /** Returns what to print for an error of the starter or of a file; undefined for others. */
  problemOf(thrown: unknown): { message: string; exitCode: 1 | 2 } | undefined
}

const STORES = ['sqlite', 'redis']

const DETAILS = `
It writes jobs.ts, web.ts, jobs.test.ts, tsconfig.json, a Dockerfile, compose.yaml and what they need, and adds the
scripts web, worker, test and typecheck to package.json. It overwrites nothing: run it as often as you like. If the
project has a script test that does not run Vitest, it writes no jobs.test.ts.

Examples:
  highkiq init
  highkiq init --store redis
  npm create highkiq shop          a new project, in the folder shop
`

export function register(program: Command): void {
  program
    .command('init')
    .description('add jobs, a worker, a web server, a test and a Compose file to the project in this folder')
    .addOption(
      new Option('--store <store>', 'where jobs are kept (default: asks on a terminal, else sqlite)').choices(STORES),
    )
    .addHelpText('after', DETAILS)
    .action(async ({ store }: { store?: string }) => {
      const commands = packageFile('../create-highkiq/commands.js')
      const { init, problemOf } = (await importUnbundled(commands.href)) as unknown as Starter
      try {
        await init({ store, folder: process.cwd() }, io())
      } catch (thrown) {
        const problem = problemOf(thrown)
        throw problem ? new CliError(problem.message, problem.exitCode) : thrown
      }
    })
}
