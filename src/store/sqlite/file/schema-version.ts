/** The version of the schema, in a file and of this Highkiq. */

import { migrations } from '../sql.generated.ts'

/** The schema of version 0.1. A file of any later version can be migrated. */
export const OLDEST_VERSION = 12
export const SCHEMA_VERSION = OLDEST_VERSION + migrations.length
/** Schemas before this one had the application_id "HKIQ", and their version in user_version. Both are the user's now. */
const FIRST_WITH_TABLE = 36
export const OLD_APPLICATION_ID = 0x484b4951

/** Runs a query, and returns its first row if there is one. */
type First = (sql: string) => unknown

/** Returns the version of the schema in a file; 0: Highkiq has no tables there. */
export function versionIn(first: First): number {
  // A table of that name without the column is the user's.
  if (first("SELECT 1 FROM pragma_table_info('hk_schema') WHERE name = 'version'")) return storedVersion(first)
  const pragma = (name: string) => Object.values(first(`PRAGMA ${name}`) as Record<string, number>)[0] ?? 0
  const version = pragma('user_version')
  return pragma('application_id') === OLD_APPLICATION_ID && version < FIRST_WITH_TABLE ? version : 0
}

/** Returns the version in a file that has the table for it. */
export function storedVersion(first: First): number {
  return (first('SELECT version FROM hk_schema') as { version: number } | undefined)?.version ?? 0
}

/** Returns whether a file has the tables of a schema before 36, whatever its user_version and application_id are. */
export function hasOldTables(first: First): boolean {
  const sql = "SELECT count(*) AS found FROM pragma_table_info('queue') WHERE name IN ('head', 'tail', 'cleared')"
  return (first(sql) as { found: number }).found === 3
}
