// Peers that are programs in Ruby.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const versions = new Map()

/** The version of an installed gem, or undefined. */
export function gemVersion(gem, constant) {
  if (!versions.has(gem)) versions.set(gem, askRuby(`require "${gem}"; puts ${constant}`))
  return versions.get(gem)
}

export const rubyVersion = () => askRuby('puts RUBY_VERSION')

function askRuby(code) {
  try {
    return execFileSync('ruby', ['-e', code], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

export const pathOf = (name) => fileURLToPath(new URL(`../peers/${name}`, import.meta.url))
