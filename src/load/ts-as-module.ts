/**
 * Module hook, run inside Node's loader: TypeScript files of the project are ES modules, whatever its package.json says.
 *
 * Without it a `.ts` file in a folder without `"type": "module"` counts as CommonJS: top-level await is refused, and
 * `import 'highkiq'` becomes a `require` of an ES module, which Node 20 refuses as a cycle. `.cts` files stay CommonJS.
 */

import type { ResolveHook } from 'node:module'

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const resolved = await nextResolve(specifier, context)
  const { protocol, pathname } = new URL(resolved.url)
  const ours = protocol === 'file:' && /\.tsx?$/.test(pathname) && !pathname.includes('/node_modules/')
  return ours ? { ...resolved, format: 'module' } : resolved
}
