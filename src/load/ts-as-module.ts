/**
 * Module hook, run inside Node's loader: TypeScript files of the project are ES modules, whatever its package.json says.
 *
 * Without it a `.ts` file in a folder with `"type": "commonjs"`, which `npm init` writes, counts as CommonJS. Then Node
 * refuses its imports, or turns `import 'highkiq'` into a `require` of an ES module. `.cts` files stay CommonJS.
 */

import type { InitializeHook, ModuleFormat, ResolveHook } from 'node:module'

let format: ModuleFormat

/** Node calls this with the format of the modules: `module` when tsx loads them, `module-typescript` for Node itself. */
export const initialize: InitializeHook<ModuleFormat> = (given) => {
  format = given
}

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const resolved = await nextResolve(specifier, context)
  const { protocol, pathname } = new URL(resolved.url)
  const ours = protocol === 'file:' && /\.tsx?$/.test(pathname) && !pathname.includes('/node_modules/')
  return ours ? { ...resolved, format } : resolved
}
