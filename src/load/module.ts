/** Loads the files that define an app's jobs: JavaScript, and TypeScript on every Node. */

import { register as registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const TYPESCRIPT = /\.[mc]?tsx?$/

/** A path, or a `file:` URL. */
export async function importModule(file: string | URL): Promise<Record<string, unknown>> {
  const url = urlOf(file)
  if (TYPESCRIPT.test(url.pathname)) await understandTypeScript()
  return (await import(url.href)) as Record<string, unknown>
}

export function urlOf(file: string | URL): URL {
  return typeof file === 'string' && !file.startsWith('file:') ? pathToFileURL(resolve(file)) : new URL(file)
}

let understood: Promise<void> | undefined

/** For all imports from now on: also those of the handlers, later. */
function understandTypeScript(): Promise<void> {
  understood ??= (async () => {
    // Ours before tsx's: the later one asks the earlier one.
    registerHooks('./ts-as-module.js', import.meta.url)
    const { register } = await import('tsx/esm/api')
    register()
  })()
  return understood
}
