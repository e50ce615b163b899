import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { indexOptions, searchOptions } from '../../site/search.js'
import { chineseGroups, groups } from '../../site/sidebar.js'

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

test('the Chinese sidebar has each translated page', () => {
  const names = readdirSync(join(root, 'docs/zh')).map((name) => `/zh/${name.replace(/(index)?\.md$/, '')}`)
  const links = chineseGroups.flatMap(({ items }) => items.map(({ link }) => link))
  expect(links.filter((link) => link.startsWith('/zh/')).toSorted()).toEqual(names.toSorted())
})

test('each page shows the version, the changes and a switch to the other language', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [page, other] of [
    ['start.html', '/zh/'],
    ['zh/start.html', '/'],
  ] as const) {
    const html = readFileSync(join(dist, page), 'utf8')
    expect(html).toContain(`v${version}`)
    expect(html).toContain('/CHANGELOG.md"')
    expect(html).toContain(`href="${other}"`)
  }
})

test('the API has a page for each module that the package exports', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = Object.keys(exports).filter((name) => name !== './package.json')
  for (const name of names) expect(existsSync(join(dist, 'api', `${join('highkiq', name)}.html`)), name).toBe(true)
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
  ['serverless', 'serverless'],
  ['export', 'export'],
  ['spreadsheet', 'import'],
  ['Lambda', 'serverless'],
  ['Express', 'frameworks'],
  ['idempotent', 'good-jobs'],
  ['memory grows', 'troubleshooting'],
  ['memory', 'troubleshooting'],
  ['my job does not start', 'troubleshooting'],
  ['cancel', 'queues'],
  ['webhooks', 'events'],
  ['rate limit', 'limits'],
  ['throttle', 'limits'],
  ['rollback', 'upgrades'],
  ['zero downtime', 'upgrades'],
  ['CSRF', 'secure'],
  ['scale', 'scaling'],
  ['logger', 'logging'],
  ['bulk insert', 'rows-per-job'],
  ['Jest', 'testing'],
  ['dedupe', 'unique'],
  ['DLQ', 'retries'],
  ['dead letter queue', 'retries'],
  ['autoscale', 'scaling'],
  ['repeatable', 'cron'],
  ['webpack', 'nextjs'],
  ['monorepo', 'frameworks'],
  ['exponential backoff', 'retries'],
  ['graceful shutdown', 'workers'],
  ['graceful shutdown', 'deployment'],
  ['job stuck', 'troubleshooting'],
])('a search for %s finds the page %s', async (words, page) => {
  expect(await found(words, 'root')).toContain(page)
})

test.each([
  ['幂等', 'zh/good-jobs'],
  ['死信', 'zh/retries'],
])('a search for %s in Chinese finds the page %s', async (words, page) => {
  expect(await found(words, 'zh')).toContain(page)
})

/** The three pages that the search of the site shows first. */
async function found(words: string, locale: string): Promise<string[]> {
  const name = readdirSync(join(dist, 'assets/chunks')).find((file) => file.startsWith(`@localSearchIndex${locale}`))
  const { default: json } = await import(join(dist, 'assets/chunks', name ?? ''))
  const MiniSearch = createRequire(join(root, 'site/'))('minisearch')
  const index: Index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    ...indexOptions,
  })
  const options = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...searchOptions }
  const ids = index.search(words, options).map(({ id }) => id.replace(/^\/|(\.html)?(#.*)?$/g, ''))
  return [...new Set(ids)].slice(0, 3)
}

function isFile(path: string): boolean {
  return !path.endsWith('/') && existsSync(join(dist, path))
}
