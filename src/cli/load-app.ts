/** Loads the app from the files that `-r` names. */

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { inspect } from 'node:util'
import { isApp } from '../app.ts'
import { type Highkiq, HighkiqError } from '../index.ts'
import { importModule } from '../load/module.ts'
import { CliError } from './usage.ts'

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

/**
 * Imports the files in order and returns the one app that they export, under any name.
 * @throws CliError (exit code 2) when a file is missing or throws, or the files export no app or several
 */
export async function loadApp(files: readonly string[]): Promise<Highkiq> {
  const apps = new Map<Highkiq, string>()
  for (const file of files) {
    for (const value of exportsOf(await importFile(file))) {
      if (isApp(value) && !apps.has(value)) apps.set(value, file)
    }
  }
  const [first, second] = apps
  const named = files.join(', ')
  if (!first) throw new CliError(`${named} must export an app: export const hq = new Highkiq()`, 2)
  if (second) {
    const where = first[1] === second[1] ? first[1] : `${first[1]} and ${second[1]}`
    throw new CliError(`${where} must export only one app (got several)`, 2)
  }
  return first[0]
}

async function importFile(file: string): Promise<Record<string, unknown>> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const meant = EXTENSIONS.map((extension) => file + extension).find((name) => existsSync(resolve(name)))
    throw new CliError(`there is no file ${path}${meant ? ` (did you mean ${meant}?)` : ''}`, 2)
  }
  if (statSync(path).isDirectory())
    throw new CliError(`${path} is a folder; -r must be the file that exports the app`, 2)
  try {
    return await importModule(path)
  } catch (thrown) {
    if (thrown instanceof HighkiqError && thrown.code === 'NO_TSX') throw new CliError(thrown.message, 2)
    throw new CliError(`${file} can't be loaded`, 2, inspect(thrown))
  }
}

/** Returns what a module exports; for a CommonJS module also the members of `module.exports`. */
function exportsOf(module: Record<string, unknown>): unknown[] {
  const { default: main } = module
  const members = typeof main === 'object' && main !== null && !isApp(main) ? Object.values(main) : []
  return [...Object.values(module), ...members]
}
