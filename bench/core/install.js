// Installs the peers of npm into bench/peers at the first run; they are never dependencies of the package.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../peers', import.meta.url))
const wanted = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).dependencies

/** The version of an installed package, or undefined. */
export function versionOf(name, from = folder) {
  const path = `${from}/node_modules/${name}/package.json`
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : undefined
}

export function installPeers() {
  if (Object.entries(wanted).every(([name, version]) => versionOf(name) === version)) return
  process.stderr.write('installs the peers into bench/peers …\n')
  const flags = ['--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts']
  execFileSync('npm', ['install', '--prefix', folder, ...flags], { stdio: ['ignore', 'ignore', 'inherit'] })
}
