/** The driver: `pg`, which the app installs. */

import type { Pool, PoolConfig } from 'pg'
import { HighkiqError } from '../../../job/errors.ts'
import { checkFiles } from '../../../job/open-files.ts'
import { importOptional } from '../../../load/package.ts'
import { givenText } from './texts.ts'

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
