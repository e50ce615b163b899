import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiDocument } from '../http/api.ts'

const page = readFileSync(new URL('../../docs/http-routes.md', import.meta.url), 'utf8')

/** Not in the tables: prose describes these. */
const IN_PROSE = ['/api/v1/openapi.json']

/** The routes of `/retries` exist for the other sets, too. */
const ofAnySet = (path: string) => path.replace(/^\/api\/v1\/(scheduled|dead|finished)\b/, '/api/v1/retries')

/** The paths of the tables, `{}` for each parameter. After a whole path, `/kill` is the same with another end. */
function documented(): Set<string> {
  const paths = new Set<string>()
  for (const [, cell = ''] of page.matchAll(/^\| (`.*?) \|/gm)) {
    let whole: string[] = []
    for (const [, span = ''] of cell.matchAll(/`([^`]*)`/g)) {
      const path = /\/[^\s?]*/.exec(span)?.[0]
      if (path === undefined) continue
      const parts = path
        .slice(1)
        .split('/')
        .map((part) => (/^[A-Z]+$/.test(part) ? '{}' : part))
      if (/^\/(api|metrics$|healthz$)/.test(path)) {
        whole = parts
        paths.add(ofAnySet(`/${parts.join('/')}`))
      } else {
        paths.add(`/api/v1/${parts.join('/')}`)
        paths.add(`/${[...whole.slice(0, -parts.length), ...parts].join('/')}`)
      }
    }
  }
  return paths
}

test('the page of routes has each route of the API', async () => {
  const { document } = await apiDocument()
  const known = documented()
  const paths = Object.keys(document.paths).map((path) => ofAnySet(path).replaceAll(/\{\w+\}/g, '{}'))
  expect(paths.length).toBeGreaterThan(80)
  expect(paths.filter((path) => !known.has(path) && !IN_PROSE.includes(path))).toEqual([])
})
