import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findInPath } from '../../scripts/path.js'

/** A program of others that suites need: `install.ts` sees to it, `suite.ts` skips what can't be run. */
export interface Program {
  /** For people; the name of its variable, too. */
  name: string
  /** What it can be called, the best first. */
  executables: [string, ...string[]]
  /** Folders outside of PATH in which the first of them may be, the best first. */
  folders?(): string[]
  /** Debian's package that has the best. */
  package: string
  /** Why the one at `path` can't be used; undefined when it can. */
  reasonAgainst(path: string): string | undefined
}

/** Where the suites' processes read why a program can't be used. */
export function reasonVariable({ name }: Program): string {
  return `HIGHKIQ_TEST_NO_${name.toUpperCase().replace(/\W/g, '_')}`
}

/** Its path on this machine. */
export function pathOf({ executables, folders }: Program): string | undefined {
  const [best] = executables
  const outside = folders?.().map((folder) => join(folder, best))
  return outside?.find(existsSync) ?? executables.map(findInPath).find(Boolean)
}

/** What a program says of its version, in the first group of `pattern`; undefined when it does not run. */
export function versionOf(path: string, option: string, pattern: RegExp): string | undefined {
  const { stdout } = spawnSync(path, [option], { encoding: 'utf8' })
  return pattern.exec(stdout ?? '')?.[1]
}
