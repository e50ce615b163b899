import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ImportOption, NEW_TASK_OPTIONS, READING_OPTIONS } from '../../src/tasks/import-options.ts'
import { fieldsOf } from '../../src/tasks/schema-fields.ts'
import { folderOf } from './project.ts'

const page = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')

test.each<[string, Record<string, ImportOption>]>([
  ['import', READING_OPTIONS],
  ['tasks', NEW_TASK_OPTIONS],
])('docs/%s.md shows every option with its default and its meaning', (name, options) => {
  const rows = Object.entries(options).map(
    ([option, about]) => `| \`${option}\` | ${about.default ?? ''} | ${about.meaning} |`,
  )
  expect(page(name).split('\n')).toEqual(expect.arrayContaining(rows.map((row) => row.replace('|  |', '| |'))))
})

/** The schema that docs/import.md shows. */
async function shownSchema() {
  const { z } = await import(join(folderOf('zod'), 'index.js'))
  const [, shown] = /^const schema = (.*)$/m.exec(page('import')) ?? []
  return new Function('z', `return ${shown}`)(z)
}

test('the fields of a zod schema are known, as docs/import.md says, also after changes to it', async () => {
  const schema = await shownSchema()
  for (const one of [schema, schema.strict(), schema.refine(() => true), schema.transform((row: object) => row)]) {
    expect(fieldsOf(one)).toEqual(['sku', 'price'])
  }
})

test('the schema that docs/import.md shows refuses an empty price', async () => {
  const schema = await shownSchema()
  expect(schema.safeParse({ sku: 'a-1', price: '12.50' })).toMatchObject({ data: { sku: 'a-1', price: 12.5 } })
  for (const price of ['', ' ', '12,5O']) expect(schema.safeParse({ sku: 'a-3', price }).success).toBe(false)
})
