/** `highkiq backup` copies the SQLite file of a store while workers run. */

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Highkiq } from '../../index.ts'
import { count } from '../../job/plural.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { printResult } from '../output.ts'
import { CliError } from '../usage.ts'

const HELP = `
Workers keep running. The copy has everything that was stored when the command began. It is a SQLite file that only you
can read, and it is as large as the data of the store. The store's log (-wal) grows until the copy is complete.

Examples:
  highkiq backup /var/backups/jobs-$(date +%F).db
  highkiq backup copy.db --url sqlite:/var/lib/shop/jobs.db
`

export function register(program: Command): void {
  withAppOptions(program.command('backup'))
    .description('copy the SQLite file of a store while workers run')
    .argument('<file>', 'the file to create')
    .option('--json', 'as JSON')
    .addHelpText('after', HELP)
    .action((file: string, options: AppOptions & { json?: boolean }) =>
      withExistingStore(options, (hq) => backUp(hq, resolve(file), options.json)),
    )
}

async function backUp({ store }: Highkiq, file: string, json: boolean | undefined): Promise<void> {
  if (store.shardUrls) {
    throw new CliError(`${store.url} are the shards of one store: back up each of them, named by --url`, 2)
  }
  if (!store.backUp) {
    const tools = 'pg_dump for PostgreSQL, BGSAVE and a copy of its files for Redis'
    throw new CliError(`${store.url} is not a SQLite file: back it up with the tools of its server (${tools})`, 2)
  }
  await store.backUp(file)
  const bytes = statSync(file).size
  const kilobytes = count(Math.ceil(bytes / 1000))
  printResult(json, { store: store.url, file, bytes }, `${store.url} was copied to ${file} (${kilobytes} kB)`)
}
