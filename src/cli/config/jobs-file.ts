/** What `-r` means: a file that exports the app, or a folder that has one. Ruby's files are not for Node. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../usage.ts'

const NAMES = ['jobs', 'src/jobs'].flatMap((name) =>
  ['.ts', '.mts', '.js', '.mjs'].map((extension) => name + extension),
)

/** The files that `command` loads. @throws CliError (exit code 2) that says what to name instead */
export function jobsFiles(command: string, paths: readonly string[] = ['.']): string[] {
  const nameIt = `${command} needs -r FILE, the file that exports the app (export const hq = new Highkiq()): highkiq ${command} -r jobs.ts`
  return paths.map((path) => {
    if (/\.(rb|ru)$/.test(path)) throw new CliError(`${path} is Ruby: ${nameIt}`, 2)
    if (!isFolder(path)) return path
    const found = jobsFileOf(path)
    if (found) return found
    const where = path === '.' ? 'this folder' : path
    const why = existsSync(join(path, 'config/application.rb'))
      ? `${where} is a Rails application without a jobs file for Node`
      : `${where} has no jobs.ts or src/jobs.ts`
    throw new CliError(`${why}: ${nameIt}`, 2)
  })
}

/** Whether a Node worker can load it; a sidekiq.yml names what Ruby loads. */
export function isForNode(path: string): boolean {
  return isFolder(path) ? jobsFileOf(path) !== undefined : /\.[mc]?[jt]sx?$/.test(path)
}

/** The jobs file of a folder that nobody named; undefined: it has none. */
export function jobsFileOf(folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find((path) => existsSync(path))
}

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}
