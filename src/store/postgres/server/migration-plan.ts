/** The statements that make the schema, or bring that of an older version up to date. */

import { schema as firstSchema, functions, migrations } from '../sql.generated.ts'
import { Statements } from './database.ts'
import { writerLockOf } from './lock.ts'

/** The SQL of all versions. A migration brings the schema of the version with its number, from 1, to the next one. */
export interface Versions {
  schema: string
  functions: string
  migrations: readonly string[]
}

export const VERSIONS: Versions = { schema: firstSchema, functions, migrations }

/**
 * A migration with this first line runs outside of a transaction, as CREATE INDEX CONCURRENTLY must. It may break off between any
 * two of its statements, or in one, and then runs again: before it creates an index it drops what is left of it.
 */
const OUTSIDE = /^-- Outside of a transaction\b/

export interface MigrationStep {
  from: number
  to: number
  /** Statements outside of a transaction, which come first. */
  outside: string[]
  /** One transaction, which ends with the new version. */
  inside: string[]
}

/** Returns the steps from a version to the newest one. 0: there is no schema; `hasSchema`: an empty one is there. */
export function stepsFrom(version: number, schema: string, hasSchema: boolean, all: Versions): MigrationStep[] {
  const steps: MigrationStep[] = []
  const newest = newestOf(all)
  if (version === 0) {
    const create = hasSchema ? [] : [`CREATE SCHEMA "${schema}";`]
    steps.push({ from: 0, to: newest, outside: [], inside: [...create, all.schema] })
  }
  for (let from = version; from > 0 && from < newest; from++) {
    const text = all.migrations[from - 1] as string
    const isOutside = OUTSIDE.test(text)
    if (isOutside || steps.length === 0) steps.push({ from, to: from, outside: [], inside: [] })
    const step = steps.at(-1) as MigrationStep
    if (isOutside) step.outside = statementsOf(text)
    else step.inside.push(text)
    step.to = from + 1
  }
  const statements = new Statements(schema, false)
  const own = (sql: string) => statements.of(sql).text.trim()
  return steps.map(({ from, to, outside, inside }) => {
    // The functions use what all steps have added. Until then older processes call those that were there before.
    const functions = to === newest ? [all.functions] : []
    const end = [...functions, `UPDATE hk.schema_version SET version = ${to};`]
    return { from, to, outside: outside.map(own), inside: [...inside, ...end].map(own) }
  })
}

export function newestOf(all: Versions): number {
  return 1 + all.migrations.length
}

/** Returns a step as a script. */
export function scriptOf({ outside, inside }: MigrationStep, schema: string): string {
  const transaction = ['BEGIN;', `SELECT pg_advisory_xact_lock(${writerLockOf(schema)});`, ...inside, 'COMMIT;']
  return [...outside, ...transaction].join('\n')
}

function statementsOf(text: string): string[] {
  return text
    .replace(/^--.*$/gm, '')
    .split(/(?<=;)\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}
