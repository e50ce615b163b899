/** The driver: `pg`, which the app installs. */

import type { Client, Pool, PoolConfig } from 'pg'
import { HighkiqError } from '../../../job/errors.ts'
import { checkFiles } from '../../../job/open-files.ts'
import { importOptional } from '../../../load/package.ts'
import { endClient } from './ending.ts'
import { explain } from './errors.ts'
import { givenText } from './texts.ts'
import type { PostgresOptions } from './url.ts'

type Pg = typeof import('pg')

/** The types of columns that are numbers here: bigint and numeric. Highkiq's own numbers are below 2^53. */
const NUMBERS = new Set([20, 1700])
const TEXT = 25
const TEXTS = 1009

export async function loadPg(): Promise<Pg> {
  checkFiles('pg')
  const pg = await importOptional('pg')
  if (pg) return pg as Pg
  throw new HighkiqError('NO_DRIVER', 'PostgreSQL needs the package pg: run "npm i pg"')
}

/** Returns the settings of every connection. */
export function configOf({ connectionString }: PostgresOptions) {
  return { connectionString, application_name: 'highkiq', keepAlive: true, connectionTimeoutMillis: 5000 }
}

/** Runs `work` on a connection of its own. With `seconds`, a statement without an answer in that time fails. */
export async function onConnection<T>(
  options: PostgresOptions,
  work: (client: Client) => Promise<T>,
  seconds?: number,
): Promise<T> {
  const { Client } = await loadPg()
  const client = new Client({ ...configOf(options), ...(seconds ? { query_timeout: seconds * 1000 } : {}) })
  client.on('error', () => {
    // `end` follows.
  })
  try {
    await client.connect()
    return await work(client)
  } catch (thrown) {
    throw explain(options.url, thrown)
  } finally {
    await endClient(client)
  }
}

export function openPool(pg: Pg, config: PoolConfig): Pool {
  const textsOf = pg.types.getTypeParser(TEXTS as number, 'text') as (stored: string) => (string | null)[]
  const givenTexts = (stored: string) => textsOf(stored).map((text) => text && givenText(text))
  const types = {
    getTypeParser(id: number, format?: 'text' | 'binary') {
      if (id === TEXT) return givenText
      if (id === TEXTS) return givenTexts
      return NUMBERS.has(id) ? Number : pg.types.getTypeParser(id, format as 'text')
    },
  }
  return new pg.Pool({ ...config, types: types as NonNullable<PoolConfig['types']> })
}
