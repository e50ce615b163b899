import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { Example } from './example.ts'
import { folderOf } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = 'docs/transactions.md'
const PACKAGES = [
  '@types',
  'pg',
  'drizzle-orm',
  'kysely',
  'knex',
  'postgres',
  'sequelize',
  'typeorm',
  '@prisma',
  'prisma',
]
/** What each example says when its second order is refused. */
const REFUSALS = {
  'pool.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'client.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'drizzle.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'drizzle-own.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'kysely.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'knex.ts': /duplicate key value violates unique constraint "orders_pkey"$/m,
  'postgres-js.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'sequelize.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'typeorm.ts': /^duplicate key value violates unique constraint "orders_pkey"$/m,
  'prisma.ts': /Unique constraint failed/,
}
const files = Object.keys(REFUSALS)

/** Files of the page, with the client that Prisma generates where it is needed. */
function shop(some: readonly string[]): Example {
  const example = new Example(PAGE, ['app.ts', 'schema.prisma', ...some], PACKAGES)
  if (!some.includes('prisma.ts')) return example
  const config =
    "import { defineConfig } from 'prisma/config'\nexport default defineConfig({ schema: 'schema.prisma' })\n"
  writeFileSync(join(example.folder, 'prisma.config.ts'), config)
  // `generate` does not run this engine, but would download it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  const cli = join(folderOf('prisma'), 'build/index.js')
  execFileSync(process.execPath, [cli, 'generate'], { cwd: example.folder, env, stdio: 'pipe' })
  return example
}

test('the recipes of docs/transactions.md compile', { timeout: 300_000 }, () => {
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--types', 'node']
  const kind = ['--target', 'esnext', '--module', 'nodenext', '--typeRoots', join(root, 'node_modules/@types')]
  const tsc = [join(folderOf('typescript'), 'bin/tsc'), '--pretty', 'false', ...flags, ...kind, ...files]
  expect(spawnSync(process.execPath, tsc, { cwd: shop(files).folder, encoding: 'utf8' }).stdout).toBe('')
})

onPostgres('the recipes of docs/transactions.md', () => {
  test.each(Object.entries(REFUSALS))(
    '%s commits a row with its job, or neither',
    { timeout: 300_000 },
    async (file, refusal) => {
      const server = await sharedPostgres()
      const database = `recipe_${process.pid}_${files.indexOf(file)}`
      await server.query(`CREATE DATABASE ${database}`)
      const url = server.url().replace(/postgres$/, database)
      const example = shop([file])
      const recipe = join(example.folder, file)
      const code = readFileSync(recipe, 'utf8')
      for (const [i, set] of ['', '.set({ unique: true })'].entries()) {
        writeFileSync(recipe, code.replace('SendInvoice.performAsync', `SendInvoice${set}.performAsync`))
        const printed = example.run(file, { DATABASE_URL: url })
        expect(printed).toMatch(refusal)
        expect(printed.trimEnd().split('\n').at(-1)).toBe(String(i + 1))
      }
    },
  )
})

test('docs/transactions.md names the versions that its examples were tested with', () => {
  const page = readFileSync(join(root, PAGE), 'utf8')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test/libraries.json'), 'utf8'))
  for (const name of ['drizzle-orm', 'kysely', 'knex', 'postgres', 'sequelize', 'typeorm'])
    expect(page).toContain(`${name} ${dependencies[name]}`)
  expect(page).toContain(`Prisma ${dependencies.prisma}`)
  expect(dependencies['@prisma/adapter-pg']).toBe(dependencies.prisma)
})
