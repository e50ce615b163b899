import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findInPath, findProgram } from './program.ts'

const SCRIPT = fileURLToPath(new URL('./install.sh', import.meta.url))
const OLDEST = '6.2'

/**
 * Sees to it once, before all suites, that there is a Redis server: where none is, and where we may, it is installed.
 * HIGHKIQ_TEST_NO_REDIS tells the suites why there is none (see `suite.ts`).
 */
export default function install(): void {
  if (!findProgram() && isDebianRoot()) installPackage()
  const reason = reasonAgainst()
  if (reason) process.env.HIGHKIQ_TEST_NO_REDIS = reason
  else delete process.env.HIGHKIQ_TEST_NO_REDIS
}

function isDebianRoot(): boolean {
  return process.getuid?.() === 0 && findInPath('apt-get') !== undefined && findInPath('flock') !== undefined
}

function installPackage(): void {
  console.log('Installing redis-server, for the tests of the Redis store (apt-get) …')
  // The system opens the lock when its holder ends, in whatever way.
  const lock = join(tmpdir(), 'highkiq-install-redis.lock')
  const { status, error, stdout, stderr } = spawnSync('flock', ['--timeout', '600', lock, 'sh', SCRIPT], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (status !== 0) console.error(`redis-server could not be installed: ${error?.message ?? ''}\n${stdout}${stderr}`)
}

function reasonAgainst(): string | undefined {
  const program = findProgram()
  if (!program) return 'redis-server is not installed (on Debian: apt-get install redis-server)'
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const version = /v=([\d.]+)/.exec(stdout)?.[1]
  if (!version) return `${program} does not run`
  if (Number.parseFloat(version) < Number.parseFloat(OLDEST)) return `${program} is ${version}, older than ${OLDEST}`
  return undefined
}
