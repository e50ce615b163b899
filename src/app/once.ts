/** The apps of `Highkiq.once`: one of each name in a process, however often the module that makes it is evaluated. */

import { invalidOption } from '../job/errors.ts'
import { shown } from '../job/options.ts'

/** All copies of this package in a process share the table: a bundler may make several. */
const APPS = Symbol.for('highkiq.once')
const table = globalThis as { [APPS]?: Map<string, unknown> }

/** @throws INVALID_OPTION */
export function once<App>(name: string, make: () => App, isApp: (made: App) => boolean): App {
  if (typeof name !== 'string' || name === '') {
    throw invalidOption(`Highkiq.once: the name must be a string that is not empty (got ${shown(name)})`)
  }
  if (typeof make !== 'function') {
    throw invalidOption(`Highkiq.once ${name}: the second argument must be a function that returns the app`)
  }
  table[APPS] ??= new Map()
  const kept = table[APPS].get(name) as App | undefined
  if (kept) return kept
  const app = make()
  if (!isApp(app)) throw invalidOption(`Highkiq.once ${name}: the function must return a new Highkiq()`)
  table[APPS].set(name, app)
  return app
}

/** Makes the next call of `once` create the app again. */
export function forget(app: unknown): void {
  for (const [name, kept] of table[APPS] ?? []) if (kept === app) table[APPS]?.delete(name)
}
