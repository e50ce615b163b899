// Decides which files of dist are in the npm package: those that `exports` and `bin` reach, and the dashboard. It writes
// dist/.npmignore, which npm reads. The other files of dist are there for our own tests (`#dist/…`).
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
const { exports, bin } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const entries = [...Object.values(exports).flatMap((entry) => Object.values(entry)), ...Object.values(bin)]
const starts = entries.flatMap((path) =>
  path.startsWith('./dist/') || path.startsWith('dist/') ? [path.replace(/^(\.\/)?dist\//, '')] : [],
)

/** Imports and `require`; `#dist/` is the folder itself. */
const IMPORTS = /\b(?:from|import|require)\s*\(?\s*["']((?:\.|#dist\/)[^"']+)["']/g
/** Files that are loaded by their path in dist. */
const FILES = /\b(?:packageFile|new Thread)\(["']([^"']+\.js)["']/g
/** Files that are loaded by URL. */
const URLS = /["'](\.[^"']+\.js)["'], import\.meta\.url\)/g

function pathsOf(text) {
  const imports = [...text.matchAll(IMPORTS)].map(([, path]) => path)
  const files = [...text.matchAll(FILES)].map(([, path]) => `/${path}`)
  const urls = [...text.matchAll(URLS)].map(([, path]) => path)
  return [...imports, ...files, ...urls]
}

const reached = new Set(starts)
for (const name of reached) {
  const text = readFileSync(new URL(name, dist), 'utf8')
  for (const path of pathsOf(text)) {
    const found = new URL(path.replace('#dist/', '/'), `file:///${name}`).pathname.slice(1)
    const file = name.endsWith('.d.ts') ? found.replace(/\.js$|\.ts$/, '.d.ts') : found
    // Scripts of pages, which are strings in chunks, import files that are not in dist.
    if (existsSync(new URL(file, dist))) reached.add(file)
  }
}
const lines = [
  '# Written by scripts/package-files.js.',
  '*',
  '!*/',
  ...[...reached].sort().map((name) => `!/${name}`),
  '!/dashboard/**',
  '!/chunks/*.LICENSE',
]
writeFileSync(new URL('.npmignore', dist), `${lines.join('\n')}\n`)
