/** Opens a SQLite file with one of the drivers. */

import type { Driver, DriverName } from './driver.ts'
import { openLibsql } from './libsql.ts'
import { openNodeSqlite } from './node-sqlite.ts'

/** Opens a file or `:memory:` with the named driver, or with the one that this Node has. */
export async function openDriver(path: string, name?: DriverName): Promise<Driver> {
  return driverName(name) === 'node' ? openNodeSqlite(path) : openLibsql(path)
}

/** Returns the driver that a store uses for which `name` is chosen. */
export function driverName(name?: DriverName): DriverName {
  return name ?? (hasNodeSqlite() ? 'node' : 'libsql')
}

/** Returns whether this is Node 22.13 or later. In 22.5 to 22.12 the module is behind a flag. */
function hasNodeSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}
