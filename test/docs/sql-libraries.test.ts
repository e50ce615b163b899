import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { Example } from './example.ts'

test.each([
  ['drizzle.ts', 'drizzle-orm'],
  ['kysely.ts', 'kysely'],
  ['knex.ts', 'knex'],
])('%s of docs/sql-libraries.md commits a row with its job, or neither', { timeout: 300_000 }, async (file, name) => {
  const example = new Example('docs/sql-libraries.md', ['app.ts', file], [name])
  expect(example.run(file)).toMatch(/^UNIQUE constraint failed: orders\.id\n1\n$/)
  expect(example.run(file)).toMatch(/^UNIQUE constraint failed: orders\.id\n2\n$/)
  const database = await openDriver(`${example.folder}/shop.db`)
  const rows = database.prepare('SELECT customer FROM orders').all()
  database.close()
  expect(rows.map((row) => ({ ...(row as object) }))).toEqual([{ customer: 'ann' }, { customer: 'ann' }])
})

test('docs/sql-libraries.md names the versions that its examples were tested with', () => {
  const page = readFileSync(new URL('../../docs/sql-libraries.md', import.meta.url), 'utf8')
  const { dependencies } = JSON.parse(readFileSync(new URL('../libraries.json', import.meta.url), 'utf8'))
  for (const name of ['drizzle-orm', 'kysely', 'knex']) expect(page).toContain(`${name} ${dependencies[name]}`)
})
