import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Project } from '../docs/project.ts'

const folder = import.meta.dirname
const files = readdirSync(folder).filter((file) => !file.endsWith('.test.ts'))

/** A project with the files of this folder. In each of them, a mistake that is no compile error is one. */
function project(): Project {
  const project = new Project()
  for (const file of files) project.write(file, readFileSync(join(folder, file), 'utf8'))
  return project
}

test.each([
  ['5.8', 'typescript-5.8'],
  ['5.9', 'typescript-5.9'],
  ['6', 'typescript-6'],
  ['7', 'typescript'],
])(
  'TypeScript %s finds the mistakes in the use of jobs, tasks and schemas',
  { timeout: 180_000 },
  (version, compiler) => {
    const user = project()
    expect(user.compile(compiler, ['--version'])).toContain(`Version ${version}.`)
    expect(user.compile(compiler, ['--declaration'])).toBe('')
    expect(user.compile(compiler, ['--exactOptionalPropertyTypes'])).toBe('')
  },
)

test('a mistake in a file of this folder is reported', { timeout: 180_000 }, () => {
  const user = project()
  user.write('wrong.ts', "import { Highkiq } from 'highkiq'\nnew Highkiq({ url: 5 })\n")
  expect(user.compile()).toMatch(/^wrong\.ts\(2,\d+\): error TS2322/)
})

test('a handler that takes other rows than its schema returns gets an error that says so, with both types', {
  timeout: 180_000,
}, () => {
  const user = project()
  user.write(
    'wrong.ts',
    `import { Highkiq } from 'highkiq'
import { z } from 'zod'
const validate = z.object({ sku: z.string() })
new Highkiq().job('Wrong', { validate }, async (_ctx, row: { name: string }) => row.name)
`,
  )
  expect(user.compile()).toMatch(
    /the schema \(validate\) returns other rows than the handler takes.*sku: string.*name: string/,
  )
})
