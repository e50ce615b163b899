// The servers that a machine has. A peer whose server is missing is left out.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where Debian's packages of PostgreSQL are, by version. */
const POSTGRES = '/usr/lib/postgresql'

/** The folder with the programs of the newest PostgreSQL. */
export function postgresPrograms() {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES).map(Number) : []
  return versions.length > 0 ? join(POSTGRES, String(Math.max(...versions)), 'bin') : undefined
}

export function postgresMissing() {
  return postgresPrograms() ? undefined : `PostgreSQL is not installed in ${POSTGRES}`
}

export function redisMissing() {
  return spawnSync('redis-server', ['--version']).error ? 'redis-server is not installed' : undefined
}
