import { type Program, versionOf } from '../programs/program.ts'

const OLDEST = 6.2

/** A Redis or Valkey server. */
export const redis: Program = {
  name: 'redis',
  executables: ['redis-server', 'valkey-server'],
  package: 'redis-server',
  reasonAgainst(path) {
    const version = versionOf(path, '--version', /v=([\d.]+)/)
    if (!version) return `${path} does not run`
    return Number.parseFloat(version) < OLDEST ? `${path} is ${version}, older than ${OLDEST}` : undefined
  },
}

/** Starts a program with a clock of its own. */
export const faketime: Program = {
  name: 'faketime',
  executables: ['faketime'],
  package: 'faketime',
  reasonAgainst: (path) => (versionOf(path, '--version', /Version ([\d.]+)/) ? undefined : `${path} does not run`),
}
