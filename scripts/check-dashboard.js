// Holds the size of the dashboard: what a browser loads before it shows the first page.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const MOST_BYTES = 90_000

const root = new URL('../dist/dashboard/', import.meta.url)
const read = (path) => readFileSync(new URL(path, root))
const page = read('index.html').toString()

/** The scripts that the page names, and what those import at once. */
const loaded = new Set([...page.matchAll(/\/__base__\/(assets\/[^"]+\.js)/g)].map(([, path]) => path))
for (const path of loaded) {
  for (const [, name] of read(path)
    .toString()
    .matchAll(/\b(?:import|from)\s*"\.\/([^"]+\.js)"/g))
    loaded.add(`assets/${name}`)
}
// The overview is the first page for most: what it draws its charts with counts.
const bytes = [...loaded].reduce((sum, path) => sum + gzipSync(read(path)).length, 0)
const told = `the dashboard's first page loads ${(bytes / 1000).toFixed(1)} kB of JavaScript (gzipped, ${loaded.size} files)`
if (loaded.size === 0) {
  console.error('dist/dashboard/index.html names no script: npm run build')
  process.exit(1)
}
if (bytes > MOST_BYTES) {
  console.error(`${told}: ${MOST_BYTES / 1000} kB are the most. Load what a page needs with lazy() when it is opened.`)
  process.exit(1)
}
console.log(told)
