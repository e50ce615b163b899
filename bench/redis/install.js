// The peers live in a folder of their own and are no dependency of the package.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../peers', import.meta.url))

/** Installs them when they are missing. @returns the versions that are measured */
export function installPeers() {
  if (!existsSync(`${folder}/node_modules/bullmq`)) {
    execFileSync('npm', ['install', '--prefix', folder, '--no-package-lock', '--no-audit', '--no-fund'], {
      stdio: 'inherit',
    })
  }
  const version = (path) => JSON.parse(readFileSync(`${path}/package.json`, 'utf8')).version
  const home = fileURLToPath(new URL('../..', import.meta.url))
  return {
    highkiq: version(home),
    'ioredis of highkiq': version(`${home}/node_modules/ioredis`),
    bullmq: version(`${folder}/node_modules/bullmq`),
    'ioredis of bullmq': version(`${folder}/node_modules/ioredis`),
  }
}
