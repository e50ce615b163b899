// Holds the size of the dashboard: what a browser loads before it shows the first page, in the largest language.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const MOST_BYTES = 90_000
/** The chunks of the languages, of which a viewer loads one. */
const LANGUAGE = /^(en|ru|zh)-/

const root = new URL('../dist/dashboard/', import.meta.url)
const read = (path) => readFileSync(new URL(path, root))
const gzipped = (path) => gzipSync(read(path)).length
const page = read('index.html').toString()

/** What the page names, and what its scripts import at once. */
const loaded = new Set([...page.matchAll(/\/__base__\/(assets\/[^"]+\.(?:js|css))/g)].map(([, path]) => path))
for (const path of loaded) {
  if (!path.endsWith('.js')) continue
  for (const [, name] of read(path)
    .toString()
    .matchAll(/\b(?:import|from)\s*"\.\/([^"]+\.js)"/g))
    loaded.add(`assets/${name}`)
}
const languages = readdirSync(new URL('assets/', root)).filter((name) => LANGUAGE.test(name))
const files = [...loaded]
if (
  !files.some((path) => path.endsWith('.js')) ||
  !files.some((path) => path.endsWith('.css')) ||
  languages.length < 3
) {
  console.error('dist/dashboard has no script, no style sheet or not every language: npm run build')
  process.exit(1)
}
// The server inserts the mount path only into the page.
const based = readdirSync(new URL('assets/', root)).filter((name) => read(`assets/${name}`).includes('/__base__'))
if (based.length > 0) {
  console.error(`these files of the dashboard contain the mount path, and work below no other: ${based.join(', ')}`)
  process.exit(1)
}
// The overview is the first page for most: what it draws its charts with counts.
const parts = {
  JavaScript: files.filter((path) => path.endsWith('.js')).reduce((sum, path) => sum + gzipped(path), 0),
  CSS: files.filter((path) => path.endsWith('.css')).reduce((sum, path) => sum + gzipped(path), 0),
  'the largest language': Math.max(...languages.map((name) => gzipped(`assets/${name}`))),
  HTML: gzipped('index.html'),
}
const bytes = Object.values(parts).reduce((sum, part) => sum + part, 0)
const kB = (n) => `${(n / 1000).toFixed(1)} kB`
const detail = Object.entries(parts)
  .map(([name, part]) => `${name} ${kB(part)}`)
  .join(', ')
const told = `the dashboard's first page loads ${kB(bytes)} (gzipped; ${detail})`
if (bytes > MOST_BYTES) {
  console.error(`${told}: ${kB(MOST_BYTES)} are the most. Load what a page needs with lazy() when it is opened.`)
  process.exit(1)
}
console.log(told)
