/** Finds the files of this package and optional packages, also from an app's bundle, which no bundler can know. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { HighkiqError } from '../job/errors.ts'
import { VERSION } from '../version.generated.ts'

let root: URL | undefined

/**
 * Returns where a file of the built package is, by its path in `dist`: beside this code, or, when a bundler has moved
 * the code, in the same version of the package that is installed for the app. @throws BUNDLED
 */
export function packageFile(path: string): URL {
  root ??= [here(), installed()].find((folder) => folder && isThisPackage(folder))
  if (root) return new URL(`dist/${path}`, root)
  throw new HighkiqError(
    'BUNDLED',
    `${path} of highkiq ${VERSION} is not found: a bundler has moved the code away from it, and node_modules of ${process.cwd()} has no highkiq ${VERSION}. Keep highkiq out of the bundle (Next.js: serverExternalPackages: ['highkiq'], esbuild: --external:highkiq), and install it where the bundle runs`,
  )
}

/** Returns the folder of the package if this code is still in it. */
function here(): URL | undefined {
  // Undefined in a bundle of CommonJS.
  const url: string | undefined = import.meta.url
  // A bundler would look for a module at `new URL('../..', url)`.
  return url?.startsWith('file:') ? pathToFileURL(join(fileURLToPath(url), '../../../')) : undefined
}

function installed(): URL | undefined {
  try {
    return new URL('./', pathToFileURL(requireOfApp().resolve('highkiq/package.json')))
  } catch {
    return undefined
  }
}

function isThisPackage(folder: URL): boolean {
  try {
    const { name, version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
    return name === 'highkiq' && version === VERSION
  } catch {
    return false
  }
}

/** Imports a module that bundlers of apps do not follow. */
export function importUnbundled(specifier: string): Promise<Record<string, unknown>> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ specifier)
}

/**
 * Loads an optional peer, which is installed beside this code, beside the app's file `near`, or in the folder where the
 * app was started. Returns its default export, or all its exports. Returns undefined when it is not installed.
 */
export async function importOptional(name: string, near?: URL): Promise<unknown> {
  for (const load of [importUnbundled, requireOfApp(near)]) {
    try {
      const module = await load(name)
      return module.default ?? module
    } catch (thrown) {
      if (!isMissing(name, thrown)) throw thrown
    }
  }
  return undefined
}

function requireOfApp(near: URL | string = join(process.cwd(), 'package.json')): NodeJS.Require {
  return createRequire(near)
}

/** Returns whether this package is missing, and not another one that it needs. */
function isMissing(name: string, thrown: unknown): boolean {
  const { code = '', message } = thrown as NodeJS.ErrnoException
  const [base] = name.split('/')
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(code) && new RegExp(`['"]${base}\\b`).test(message)
}
