/** The statements that make the schema, or bring that of an older version up to date. */

import { statSync } from 'node:fs'
import { HighkiqError } from '../../../job/errors.ts'
import type { MigrationPlan } from '../../contract.ts'
import { migrations, schema } from '../sql.generated.ts'
import type { Driver, DriverName } from './driver.ts'
import { tooNew, tooOld, unusable } from './errors.ts'
import { openDriver } from './open-driver.ts'
import { OLDEST_VERSION, SCHEMA_VERSION, versionIn } from './schema-version.ts'

/** Returns what runs, in one transaction, in a file with the schema of this version; 0: it has no tables of Highkiq. */
export function statementsFrom(version: number): string[] {
  const steps = version === 0 ? [schema] : migrations.slice(version - OLDEST_VERSION)
  return [...steps, `UPDATE hk_schema SET version = ${SCHEMA_VERSION};`]
}

/** Returns what `Database.open` would do to the schema. @throws STORE_UNUSABLE */
export async function planMigration(path: string, driver?: DriverName): Promise<MigrationPlan> {
  const version = await readVersion(path, driver)
  if (version > SCHEMA_VERSION) throw tooNew(path, version)
  if (version > 0 && version < OLDEST_VERSION) throw tooOld(path, version)
  const target = SCHEMA_VERSION
  if (version === target) return { version, target, steps: [] }
  const script = ['BEGIN IMMEDIATE;', ...statementsFrom(version).map((sql) => sql.trim()), 'COMMIT;']
  return { version, target, steps: [script.join('\n')] }
}

/** Returns the number of a file's schema without changing it; 0: it has no tables of Highkiq, or does not exist. @throws STORE_UNUSABLE */
export async function readVersion(path: string, name?: DriverName): Promise<number> {
  // SQLite would create a file that is not there.
  if (path === ':memory:' || !statSync(path, { throwIfNoEntry: false })?.size) return 0
  let driver: Driver | undefined
  try {
    driver = await openDriver(path, name)
    const { prepare } = driver
    return versionIn((sql) => prepare(sql).get())
  } catch (thrown) {
    throw thrown instanceof HighkiqError ? thrown : unusable(path, driver?.resultCode(thrown), thrown)
  } finally {
    driver?.close()
  }
}
