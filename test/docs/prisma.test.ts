import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Example } from './example.ts'
import { folderOf } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = ['@prisma', 'prisma']
const CONFIG = `
import { defineConfig } from 'prisma/config'

export default defineConfig({ schema: 'schema.prisma', datasource: { url: 'file:./shop.db' } })
`
/** What Prisma's migrations would make. */
const TABLES = `
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL);
CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, jid TEXT NOT NULL, job TEXT NOT NULL, args TEXT NOT NULL);
`

/** The files of the page with the client that Prisma generates. */
function shop(file: string): Example {
  const example = new Example('docs/prisma.md', ['schema.prisma', file], PACKAGES)
  writeFileSync(join(example.folder, 'prisma.config.ts'), CONFIG)
  // `generate` does not run this engine, but would download it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  const cli = join(folderOf('prisma'), 'build/index.js')
  execFileSync(process.execPath, [cli, 'generate'], { cwd: example.folder, env, stdio: 'pipe' })
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--types', 'node']
  const kind = ['--target', 'esnext', '--module', 'nodenext', '--typeRoots', join(root, 'node_modules/@types')]
  const tsc = [join(folderOf('typescript'), 'bin/tsc'), '--pretty', 'false', ...flags, ...kind, file]
  expect(spawnSync(process.execPath, tsc, { cwd: example.folder, encoding: 'utf8' }).stdout).toBe('')
  return example
}

/** Runs a program in the shop, and returns what it prints. */
function run(example: Example, program: string): string {
  writeFileSync(join(example.folder, 'program.ts'), program)
  return example.run('program.ts')
}

test('rows in SQL of docs/prisma.md are stored with their jobs, or neither, and Prisma reads them', {
  timeout: 180_000,
}, () => {
  const program = `
    import { hq, placeOrder, prisma } from './orders.ts'

    await hq.transaction((db) => db.exec(${JSON.stringify(TABLES)}))
    await placeOrder(1, 'ann')
    console.log(await prisma.order.findMany(), (await hq.stats()).enqueued)
    const libraries = process.report.getReport().sharedObjects.filter((path) => path.includes('@libsql'))
    console.log(await hq.transaction((db) => db.constructor.name), 'of', libraries.length, 'libsql')
    await placeOrder(1, 'bob').catch((error) => console.log(error.message))
    console.log(await prisma.order.count(), (await hq.stats()).enqueued)
    await prisma.$disconnect()
    await hq.close()
  `
  expect(run(shop('orders.ts'), program)).toBe(
    "[ { id: 1, customer: 'ann' } ] 1\nDatabase of 1 libsql\nUNIQUE constraint failed: orders.id\n1 1\n",
  )
})

test('the outbox of docs/prisma.md is pushed by its cron entry, and after a crash a waiting job is stored once', {
  timeout: 180_000,
}, () => {
  const program = `
    import { hq, placeOrder, prisma, PushOutbox, SendInvoice } from './outbox.ts'

    for (const sql of ${JSON.stringify(TABLES.trim().split('\n'))}) await prisma.$executeRawUnsafe(sql)
    await placeOrder(1, 'ann')
    await placeOrder(1, 'bob').catch((error) => console.log(error.code))
    console.log(await prisma.order.count(), await prisma.outbox.count(), (await hq.stats()).enqueued)

    // The job is pushed, and its row can't be deleted.
    await prisma.$executeRawUnsafe("CREATE TRIGGER crash BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'crashed'); END")
    await PushOutbox.performInline().catch(() => console.log('crashed'))
    console.log(await prisma.outbox.count(), (await hq.stats()).enqueued)
    await prisma.$executeRawUnsafe('DROP TRIGGER crash')

    await hq.queue('default').pause()
    const worker = hq.worker({ queues: ['default'] })
    await PushOutbox.performInline()
    console.log(await prisma.outbox.count(), (await hq.stats()).enqueued)

    // The cron entry pushes the next one.
    await placeOrder(2, 'ann')
    await hq.queue('default').resume()
    const sent = new Promise((resolve) => {
      hq.server.use(async (ctx, next) => {
        await next()
        if (ctx.payload.class === 'SendInvoice' && ctx.payload.args[0] === 2) resolve(undefined)
      })
    })
    await worker.start()
    await sent
    await worker.stop()
    console.log(await prisma.order.count(), (await hq.stats()).processed >= 3)
    await prisma.$disconnect()
    await hq.close()
  `
  expect(run(shop('outbox.ts'), program)).toBe('P2002\n1 1 0\ncrashed\n1 1\n0 1\n2 true\n')
})

test('docs/prisma.md names the version that its examples were tested with', () => {
  const page = readFileSync(new URL('../../docs/prisma.md', import.meta.url), 'utf8')
  const { dependencies } = JSON.parse(readFileSync(new URL('../libraries.json', import.meta.url), 'utf8'))
  expect(page).toContain(`Prisma ${dependencies.prisma}`)
})
