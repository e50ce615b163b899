/** `highkiq migrate` makes the tables of a store, or brings those of an older version up to date. */

import type { Command } from 'commander'
import type { Highkiq } from '../../index.ts'
import type { MigrationPlan } from '../../store/contract.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { printResult } from '../output.ts'
import { CliError } from '../usage.ts'

interface MigrateOptions extends AppOptions {
  dryRun?: boolean
}

const HELP = `
The first worker or command of a new version does the same. Run it before a deploy to see the changes first, or with a user who
has more rights than the app.
Stop the processes of the older version first, or update them soon: the store then refuses their writes, or most of them.

Examples:
  highkiq migrate --dry-run --url postgres://shop@localhost/shop
  highkiq migrate
`

export function register(program: Command): void {
  withAppOptions(program.command('migrate'))
    .description("create the store's tables, or bring those of an older version up to date")
    .option('--dry-run', 'print the SQL that would run (on Redis, what would be done), and change nothing')
    .option('--json', 'as JSON')
    .addHelpText('after', HELP)
    .action((options: MigrateOptions) => withApp(options, (hq) => migrate(hq, options)))
}

async function migrate({ store }: Highkiq, { dryRun, json }: MigrateOptions): Promise<void> {
  if (dryRun && store.shardUrls) {
    throw new CliError(`${store.url} are the shards of one store: use --dry-run with each of them, named by --url`, 2)
  }
  const plan = await store.planMigration?.()
  if (!plan && dryRun) throw new CliError(`the store ${store.url} can't tell what it would do: leave out --dry-run`, 2)
  if (!dryRun) await store.open()
  printResult(json, { store: store.url, ...plan }, dryRun && plan ? scriptOf(store.url, plan) : done(store.url, plan))
}

function scriptOf(url: string, plan: MigrationPlan): string {
  if (plan.steps.length === 0) return done(url, plan)
  const from = plan.version === 0 ? 'a new store' : `from version ${plan.version} of the schema`
  return [`-- ${url}: ${from} to version ${plan.target}`, ...plan.steps].join('\n')
}

function done(url: string, plan: MigrationPlan | undefined): string {
  if (!plan) return `${url} is up to date`
  const { version, target, steps } = plan
  if (steps.length === 0) return `${url} is up to date (version ${target} of the schema)`
  return version === 0
    ? `${url} was created (version ${target} of the schema)`
    : `${url} was migrated from version ${version} of the schema to ${target}`
}
