import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

test('each test that the page of guarantees names exists', () => {
  const page = readFileSync(`${root}docs/guarantees.md`, 'utf8')
  const named = [...page.matchAll(/`(test\/\S+)`/g)].map(([, path = '']) => path)
  expect(new Set(named).size).toBeGreaterThan(30)
  expect(named.filter((path) => !existsSync(root + path))).toEqual([])
})

test('each line of its tables names a test, or says why there is none', () => {
  const page = readFileSync(`${root}docs/guarantees.md`, 'utf8')
  const rows = page.split('\n').filter((line) => /^\| (?!failure|work|clock|state|promise)/.test(line))
  expect(rows.length).toBeGreaterThan(50)
  expect(rows.filter((row) => !/test\/|tests|not tried|suite|restore a copy/.test(row))).toEqual([])
})
