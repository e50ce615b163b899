import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Runs the tests of a folder with the command of the docs. `jest` is the folder of the package. */
export function runJest(folder: string, jest: string): SpawnSyncReturns<string> {
  const { NODE_ENV: _, VITEST: __, ...env } = process.env
  const options = { ...env, NODE_OPTIONS: '--experimental-vm-modules', FORCE_COLOR: '0' }
  const args = [join(jest, 'bin/jest.js'), '--ci']
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: options })
}
