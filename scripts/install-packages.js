// Installs packages that are never dependencies of Highkiq, each set from a package.json of its own: the peers of the
// benchmarks, and libraries that tests use.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the version of an installed package, or undefined. */
export function versionOf(name, folder) {
  const path = join(folder, 'node_modules', name, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : undefined
}

/** Installs the dependencies of `list`, a package.json, into `folder`. Processes may call it at the same time. */
export function installPackages(list, folder) {
  if (isInstalled(list, folder)) return
  process.stderr.write(`installs the packages of ${list} …\n`)
  mkdirSync(folder, { recursive: true })
  // Renamed when it is complete, so that a killed install leaves nothing half-done.
  const beside = mkdtempSync(join(folder, '.install-'))
  try {
    copyFileSync(list, join(beside, 'package.json'))
    const flags = ['--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts']
    execFileSync('npm', ['install', '--prefix', beside, ...flags], { stdio: ['ignore', 'ignore', 'inherit'] })
    if (isInstalled(list, folder)) return
    replace(join(folder, 'node_modules'), join(beside, 'node_modules'), join(beside, 'old'))
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** Moves `fresh` to `path`, and what was there to `old`: removing it there could remove what another process installs. */
function replace(path, fresh, old) {
  try {
    renameSync(path, old)
  } catch (thrown) {
    if (thrown.code !== 'ENOENT') throw thrown
  }
  try {
    renameSync(fresh, path)
  } catch (thrown) {
    // Another process was faster.
    if (thrown.code !== 'ENOTEMPTY' && thrown.code !== 'EEXIST') throw thrown
  }
}

function isInstalled(list, folder) {
  const { dependencies } = JSON.parse(readFileSync(list, 'utf8'))
  // An alias is written as npm:NAME@VERSION.
  return Object.entries(dependencies).every(([name, wanted]) => versionOf(name, folder) === wanted.replace(/^.*@/, ''))
}
