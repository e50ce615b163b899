import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

test("the page names all of Highkiq's own fields, and no others", () => {
  const page = readFileSync(`${root}docs/wire.md`, 'utf8')
  // In store/sqlite such names are tables.
  const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?!store\/sqlite\/).*(?<!\.test|\.generated)\.ts$/.test(file),
  )
  const fieldsIn = (text: string) => text.match(/\bhk_[a-z]+/g) ?? []
  const used = new Set(files.flatMap((file) => fieldsIn(readFileSync(`${root}src/${file}`, 'utf8'))))
  expect(used.size).toBeGreaterThan(5)
  expect([...new Set(fieldsIn(page))].sort()).toEqual([...used].sort())
})
