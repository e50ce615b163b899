import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ImportOption, NEW_TASK_OPTIONS, READING_OPTIONS } from '../../src/tasks/import-options.ts'

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
