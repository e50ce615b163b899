import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Program, versionOf } from '../programs/program.ts'

const OLDEST = 13
/** Debian keeps the programs of each version in a folder of their own. */
const DEBIAN = '/usr/lib/postgresql'

/** A PostgreSQL server. */
export const postgres: Program = {
  name: 'postgres',
  executables: ['postgres'],
  folders: () =>
    (existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : []).map((version) =>
      join(DEBIAN, version, 'bin'),
    ),
  package: 'postgresql',
  reasonAgainst(path) {
    const version = versionOf(path, '--version', /([\d.]+)/)
    if (!version) return `${path} does not run`
    return Number.parseFloat(version) < OLDEST ? `${path} is ${version}, older than ${OLDEST}` : undefined
  },
}

/** A pool of connections between clients and a PostgreSQL server. */
export const pgbouncer: Program = {
  name: 'pgbouncer',
  executables: ['pgbouncer'],
  folders: () => ['/usr/sbin'],
  package: 'pgbouncer',
  reasonAgainst: (path) => (versionOf(path, '--version', /PgBouncer ([\d.]+)/) ? undefined : `${path} does not run`),
}
