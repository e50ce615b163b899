import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { searchOptions } from '../../site/search.js'
import { groups } from '../../site/sidebar.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(root, 'site/dist')

/** What VitePress's search asks of MiniSearch. */
interface Index {
  search(query: string, options: object): { id: string }[]
}

beforeAll(() => {
  execFileSync(process.execPath, ['site/build.js'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}, 600_000)

test('the sidebar has each page of docs once', () => {
  const names = readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -3)] : []))
  const links = groups.flatMap(({ items }) => items.map(({ link }) => link.slice(1) || 'index'))
  expect(links.toSorted()).toEqual([...names, 'api/'].toSorted())
})

test('every link of the site leads to a page and an anchor that exist', () => {
  const pages = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.html'))
  const html = new Map(pages.map((page) => [`/${page}`, readFileSync(join(dist, page), 'utf8')]))
  const dead: string[] = []
  let count = 0
  for (const [page, text] of html) {
    for (const [, href = ''] of text.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(href, `http://site${page}`)
      if (origin !== 'http://site') continue
      count++
      const path = decodeURI(pathname)
      const found = [path, `${path}.html`, `${path}index.html`].find((one) => html.has(one) || isFile(one))
      const target = found && html.get(found)
      const id = decodeURIComponent(hash.slice(1)).replaceAll('&', '&amp;')
      if (!found || (target && id && !target.includes(`id="${id}"`))) dead.push(`${page}: ${href}`)
    }
  }
  expect(count).toBeGreaterThan(1_000)
  expect(dead).toEqual([])
})

test.each([
  ['jitter', 'retries'],
  ['deduplicate', 'unique'],
  ['CommonJS', 'start'],
  ['serverless', 'deployment'],
  ['idempotent', 'good-jobs'],
  ['memory grows', 'troubleshooting'],
])('a search for %s finds the page %s', async (words, page) => {
  const name = readdirSync(join(dist, 'assets/chunks')).find((file) => file.startsWith('@localSearchIndexroot'))
  const { default: json } = await import(join(dist, 'assets/chunks', name ?? ''))
  const MiniSearch = createRequire(join(root, 'site/'))('minisearch')
  const index: Index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
  })
  const found = index.search(words, {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, text: 2, titles: 1 },
    ...searchOptions,
  })
  expect(found.slice(0, 3).map(({ id }) => id.replace(/^\/|(\.html)?(#.*)?$/g, ''))).toContain(page)
})

function isFile(path: string): boolean {
  return !path.endsWith('/') && existsSync(join(dist, path))
}
