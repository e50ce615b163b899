/** Loads the files that define an app's jobs: JavaScript, and TypeScript on every Node. */

import { register as registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HighkiqError } from '../job/errors.ts'
import { importOptional, importUnbundled, packageFile } from './package.ts'

const TYPESCRIPT = /\.[mc]?tsx?$/

/** Imports a file, given by a path or a `file:` URL. @throws NO_TSX */
export async function importModule(file: string | URL): Promise<Record<string, unknown>> {
  const url = urlOf(file)
  if (TYPESCRIPT.test(url.pathname)) await understandTypeScript(url)
  return importUnbundled(url.href)
}

export function urlOf(file: string | URL): URL {
  return typeof file === 'string' && !file.startsWith('file:') ? pathToFileURL(resolve(file)) : new URL(file)
}

let prepared: Promise<void> | undefined

/**
 * Lets all later imports be TypeScript, too: with `tsx` if it is installed, else by Node's own type stripping (Node 22.18
 * and newer).
 * @throws NO_TSX
 */
function understandTypeScript(url: URL): Promise<void> {
  prepared ??= (async () => {
    const tsx = (await importOptional('tsx/esm/api', url)) as { register(): unknown } | undefined
    if (!tsx && !(process.features as { typescript?: unknown }).typescript) {
      const message = `${url.pathname} is TypeScript, which Node ${process.versions.node} can't load: run npm i tsx, or use Node 22.18 or newer`
      throw new HighkiqError('NO_TSX', message)
    }
    // This hook must come before that of tsx: the later one asks the earlier one.
    registerHooks(packageFile('load/ts-as-module.js'), { data: tsx ? 'module' : 'module-typescript' })
    tsx?.register()
  })()
  return prepared
}
