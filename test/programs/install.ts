import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findInPath } from '../../scripts/path.js'
import { fish, zsh } from '../cli/program.ts'
import { nginx, systemd } from '../docs/program.ts'
import { chromium } from '../http/program.ts'
import { promtool } from '../http/prometheus.ts'
import { sidekiq } from '../interop/program.ts'
import { pgbouncer, postgres } from '../postgres/program.ts'
import { faketime, redis } from '../redis/program.ts'
import { openssl } from './openssl.ts'
import { type Program, pathOf, reasonVariable } from './program.ts'

const SCRIPT = fileURLToPath(new URL('./install.sh', import.meta.url))
const PROGRAMS = [redis, postgres, pgbouncer, faketime, sidekiq, chromium, zsh, fish, promtool, systemd, nginx, openssl]

/**
 * Sees to it once, before all suites, that the programs are there that suites need: what is missing is installed, where
 * we may. Suites are told what can't be used, and why (see `suite.ts`).
 */
export default function install(): void {
  const missing = PROGRAMS.filter((program) =>
    program.folders ? !pathOf(program) : !findInPath(program.executables[0]),
  )
  if (missing.length > 0 && isDebianRoot()) installPackages(missing)
  for (const program of PROGRAMS) {
    const reason = reasonAgainst(program)
    if (reason) process.env[reasonVariable(program)] = reason
    else delete process.env[reasonVariable(program)]
  }
}

function isDebianRoot(): boolean {
  return process.getuid?.() === 0 && findInPath('apt-get') !== undefined && findInPath('flock') !== undefined
}

function installPackages(programs: Program[]): void {
  const packages = programs.map((program) => program.package)
  console.log(`Installing ${packages.join(', ')}, which suites need (apt-get) …`)
  // The system opens the lock when its holder ends, in whatever way.
  const lock = join(tmpdir(), 'highkiq-install.lock')
  const { error, stdout, stderr } = spawnSync('flock', ['--timeout', '600', lock, 'sh', SCRIPT, ...packages], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const left = programs.filter((program) => !pathOf(program))
  if (left.length === 0) return
  const names = left.map((program) => program.package).join(', ')
  console.error(`${names} could not be installed: ${error?.message ?? ''}\n${stdout}${stderr}`)
}

function reasonAgainst(program: Program): string | undefined {
  const path = pathOf(program)
  if (path) return program.reasonAgainst(path)
  return `${program.name} is not installed (on Debian: apt-get install ${program.package})`
}
