import { expect, test } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/driver.js'
import { Example } from './example.ts'

test.each([
  ['drizzle.ts', 'drizzle-orm'],
  ['kysely.ts', 'kysely'],
  ['knex.ts', 'knex'],
])('%s of docs/sql-libraries.md commits a row with its job, or neither', { timeout: 120_000 }, async (file, name) => {
  const example = new Example('docs/sql-libraries.md', ['app.ts', file], [name])
  expect(example.run(file)).toMatch(/^UNIQUE constraint failed: orders\.id\n1\n$/)
  const database = await openDriver(`${example.folder}/shop.db`)
  const rows = database.prepare('SELECT id, customer FROM orders').all()
  database.close()
  expect(rows.map((row) => ({ ...(row as object) }))).toEqual([{ id: 7, customer: 'ann' }])
})
