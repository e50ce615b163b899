/** Resolves `-r`: a file that exports the app, or a folder that contains one. Refuses Ruby files. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../usage.ts'

const NAMES = ['jobs', 'src/jobs'].flatMap((name) =>
  ['.ts', '.mts', '.js', '.mjs'].map((extension) => name + extension),
)

/** Returns the files that `command` loads. @throws CliError (exit code 2) when a path is not a jobs file */
export function jobsFiles(command: string, paths: readonly string[] = ['.']): string[] {
  const hint = `${command} needs -r FILE, the file that exports the app (export const hq = new Highkiq()): highkiq ${command} -r jobs.ts`
  return paths.map((path) => {
    if (/\.(rb|ru)$/.test(path)) throw new CliError(`${path} is Ruby: ${hint}`, 2)
    if (!isFolder(path)) return path
    const found = jobsFileOf(path)
    if (found) return found
    const where = path === '.' ? 'this folder' : path
    const why = existsSync(join(path, 'config/application.rb'))
      ? `${where} is a Rails application without a jobs file for Node`
      : `${where} has no jobs.ts or src/jobs.ts`
    throw new CliError(`${why}: ${hint}`, 2)
  })
}

/** Whether Node can load the path. The paths in a sidekiq.yml usually are Ruby's. */
export function isForNode(path: string): boolean {
  return isFolder(path) ? jobsFileOf(path) !== undefined : /\.[mc]?[jt]sx?$/.test(path)
}

/** Returns the default jobs file of a folder, or undefined when it has none. */
export function jobsFileOf(folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find((path) => existsSync(path))
}

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}
