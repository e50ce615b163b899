import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf, OF_FRAMEWORKS, pages } from './blocks.ts'
import { folderOf } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Lesson {
  env?: Record<string, string>
  /** Files beside it. */
  files?: Record<string, string>
  /** Code before the program: what the page takes for granted. */
  before?: string
  /** Code after it: what the page says that you do then. */
  after?: string
  /** What the program and its jobs print: lines of the console, then those of the log. */
  prints?: string[]
}

const KEY = Buffer.alloc(32, 7).toString('base64')
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64')

/** The whole programs without a file name that print something or need something, by page and heading. The others only run. */
const LESSONS: Record<string, Lesson> = {
  'docs/batches.md, The shortest batch': {
    prints: ['imported shop=1', 'imported shop=2', 'imported shop=3', 'all shops are imported succeeded=3'],
  },
  'docs/context.md, The shortest version': { prints: ['writing an invoice order=1001 tenant="acme"'] },
  'docs/context.md, Carry a part of a large value': { prints: ['reminding to="Ann"'] },
  'docs/deferred.md, Rows that end elsewhere': {
    after: `
while ((await task.status())?.deferred !== 2) await new Promise((resolve) => setTimeout(resolve, 20))
for await (const { messages, jid } of task.events({ status: ['working'] })) {
  console.log(messages.at(-1)?.text)
  await hq.tasks.finish(jid, { receipt: 'r-7' })
}
console.log((await task.status())?.state)`,
    prints: [
      'task ID waits for the bank: see highkiq task show ID',
      'order 17 was sent to the bank',
      'order 18 was sent to the bank',
      'done',
    ],
  },
  'docs/encryption.md, The shortest version': {
    env: { JOB_KEY: KEY },
    prints: ['to an account that ends with 1234 order=7'],
  },
  'docs/encryption.md, Change the key': { env: { JOB_KEY_1: KEY, JOB_KEY_2: OTHER_KEY } },
  'docs/events.md, Events': {
    prints: ['TIME pushed HardJob JID', 'TIME started HardJob JID', 'TIME succeeded HardJob JID'],
  },
  'docs/events.md, Continue after a restart': {
    // The store closes with the program.
    before: `setTimeout(() => void hq.push({ class: 'HardJob', args: [] }), 4000)`,
    prints: ['pushed JID'],
  },
  'docs/finished.md, Finished jobs': { prints: ['succeeded { width: 640 } TIME TIME', 'resizing image="cat.png"'] },
  'docs/finished.md, Keep the jobs of a queue, or of the app': {
    before: `import { setTimeout } from 'node:timers/promises'`,
    after: `
await hq.worker({ queues: ['pings'] }).start()
await Ping.performAsync()
await Charge.performAsync(17)
while ((await hq.finished.size()) === 0) await setTimeout(20)
for await (const job of hq.finished) console.log(job.displayClass)`,
    prints: ['Charge', 'ping', 'charging invoice=17'],
  },
  'docs/guide.md, Define a job': {
    after: `await HardJob.performAsync('bob', 5)`,
    prints: ['working hard count=5'],
  },
  'docs/index.md, What Highkiq is, and when not to use it': { prints: ['welcome sent name="ann"'] },
  'docs/iterable.md, The shortest version': {
    before: `import { writeFileSync } from 'node:fs'
writeFileSync('customers.csv', 'name,mail\\nBob,bob@example.com\\nAnn,ann@example.com\\n')`,
    after: `await Remind.performAsync('customers.csv', 'see you')`,
    prints: ['see you to="bob@example.com"', 'see you to="ann@example.com"', 'all reminded attempts=1'],
  },
  'docs/limits.md, Limits': { prints: ['charging invoice=17'] },
  'docs/limits.md, Limit a rate': { prints: ['syncing page=1', 'syncing page=2', 'syncing page=3'] },
  'docs/limits.md, Limit each customer': {
    prints: ['exporting customer="ann"', 'exporting customer="ann"', 'exporting customer="bob"'],
  },
  'docs/limits.md, Share a limit between jobs': { prints: ['charging invoice=17', 'refunding invoice=16'] },
  'docs/limits.md, Limit a part of a handler': { prints: ['charged invoice=17 sum=1700'] },
  'docs/logging.md, Write log lines from a job': { prints: ['syncing tags=["north"] shop="acme" attempt=1'] },
  'docs/observability.md, OpenTelemetry': { prints: ['hello name="ann"'] },
  'docs/queues.md, Limit the length of a queue': {
    after: `console.log(await hq.queue('mail').size())`,
    prints: ['1'],
  },
  'docs/retries.md, Choose the delay': {
    after: `
await Poll.performAsync('acme')
await Call.performAsync('acme')`,
    prints: ['polling shop="acme"', 'calling shop="acme"'],
  },
  'docs/retries.md, Stop an attempt that takes too long': {
    after: `
await Fetch.performInline('data:,ok')
await Fetch.performInline('http://127.0.0.1:1').catch(() => console.log('not there'))`,
    prints: ['not there'],
  },
  'docs/store.md, Register a scheme': {
    files: {
      'mysql-store.ts': `
import { registerStore } from 'highkiq/store'
import { openStore } from '${root}dist/store/open.js'
registerStore('mysql', (_url, settings) => openStore('sqlite::memory:', settings))`,
    },
    after: `
const HardJob = hq.job('HardJob', async (ctx, url: string) => ctx.log.info(url))
await HardJob.performAsync('stored')`,
    prints: ['stored'],
  },
  'docs/submitters.md, Give a submitter a link': {
    prints: [expect.stringMatching(/^https:..shop.example.jobs.tasks.ID.token=\S+$/), 'saved sku="a-1" price="12.50"'],
  },
  'docs/testing.md, Test retries, schedules and crashes': { prints: ['not yet attempt=1 next="retry at TIME"'] },
  'docs/unique.md, The shortest version': { prints: ['true', 'indexed customer=7'] },
}

/** Fragments that do not run in the shop: why. */
const NOT_IN_SHOP: Record<string, string> = {
  'docs/guide.md, To another store': 'the Redis of another region',
  'docs/http.md, Mount it in your app': 'it listens on a port that may be in use',
  'docs/http.md, Use the client for browsers and Node': 'the server of a shop on the web',
  'docs/secure.md, Require a login': 'it listens on ports that may be in use',
  'docs/secure.md, Use the login of your app': 'it listens on a port that may be in use',
  'docs/tasks.md, What you can do with a task': 'a report that a person has corrected; import.ts shows it',
  'docs/tasks.md, Retry rejected rows': 'a report that a person has corrected; import.ts shows it',
  'docs/tasks.md, Resume after the producer died': 'a producer that died',
  'docs/testing.md, The shortest version': 'a test runner',
  'docs/testing.md, With Vitest': 'a test runner',
  'docs/testing.md, With node:test': 'a test runner',
  'docs/workers.md, Workers': 'it runs until a signal',
}

/** What comes before some fragments. */
const BEFORE: Record<string, string> = {
  'docs/guide.md, In one transaction with your own rows': `await hq.transaction((db) => db.exec('CREATE TABLE "order" (id)'))`,
  'docs/ordered.md, From an app that does not define the queue': `import { Highkiq } from 'highkiq'
const other = new Highkiq()
other.ordered('SyncUser', { shards: 5 }, async () => {})
await other.worker().start()`,
}
const WAITS = /\.wait\(|wait: true|hq\.result\(/

/** The blocks that have no file name, by their page and heading; the second one below a heading has a number. */
function unnamedBlocks(isWanted: (code: string) => boolean): Map<string, string> {
  const found = new Map<string, string>()
  for (const page of pages.filter((page) => !OF_FRAMEWORKS.includes(page))) {
    for (const { heading, code, file } of blocksOf(page, 'ts')) {
      if (file !== undefined || !isWanted(code)) continue
      const place = `${page}, ${heading}`
      let name = place
      for (let n = 2; found.has(name); n++) name = `${place} (${n})`
      found.set(name, code)
    }
  }
  return found
}

const isWhole = (code: string) => code.includes('new Highkiq(')

/** Runs programs in one process, each in a folder of its own with these files. Returns the lines that each printed. */
function run(programs: Map<string, Lesson & { files: Record<string, string> }>): Record<string, string[] | undefined> {
  const all = mkdtempSync(join(tmpdir(), 'highkiq-lessons-'))
  onTestFinished(() => rmSync(all, { recursive: true, force: true }))
  const packages = join(all, 'node_modules')
  mkdirSync(packages)
  symlinkSync(root, join(packages, 'highkiq'))
  for (const name of ['@opentelemetry', 'zod']) symlinkSync(folderOf(name), join(packages, name))
  writeFileSync(join(all, 'package.json'), '{ "type": "module" }')
  const folders = Array.from(programs.values(), ({ env, files, prints }, i) => {
    const folder = join(all, String(i))
    mkdirSync(folder)
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
    writeFileSync(join(folder, 'lesson.json'), JSON.stringify({ env, lines: prints?.length }))
    return folder
  })
  const tsx = join(root, 'node_modules/tsx/dist/loader.mjs')
  const runner = fileURLToPath(new URL('run-lessons.ts', import.meta.url))
  const args = ['--import', tsx, runner, ...folders]
  const printed = execFileSync(process.execPath, args, { cwd: all, encoding: 'utf8', maxBuffer: 1e8 })
  const results: Record<string, string[]> = JSON.parse(printed)
  return Object.fromEntries([...programs.keys()].map((name, i) => [name, results[folders[i] as string]]))
}

test('each whole program of the docs runs as it stands, and prints what its page says', { timeout: 180_000 }, () => {
  const found = unnamedBlocks(isWhole)
  expect(Object.keys(LESSONS).filter((name) => !found.has(name))).toEqual([])
  const lessons = Array.from(found, ([name, code]) => {
    const lesson = LESSONS[name] ?? {}
    const { files, before = '', after = '', prints = [] } = lesson
    const [, app] = /(\w+) = new Highkiq\(/.exec(code) ?? []
    const main = `${before}\n${code}\n${after}\nexport { ${app} as lesson }\n`
    return [name, { ...lesson, prints, files: { ...files, 'main.ts': main } }] as const
  })
  expect(run(new Map(lessons))).toEqual(Object.fromEntries(lessons.map(([name, { prints }]) => [name, prints])))
})

test('each fragment of the docs runs in the shop around it', { timeout: 180_000 }, () => {
  const found = unnamedBlocks((code) => !isWhole(code))
  for (const name of Object.keys(NOT_IN_SHOP)) expect(found.delete(name), name).toBe(true)
  const shop = readFileSync(new URL('shop.ts', import.meta.url), 'utf8')
  const table = 'sku,price\na-1,12.50\n'
  const fragments = Array.from(found, ([name, code]) => {
    const worker = WAITS.test(code) ? 'await hq.worker({ pollInterval: 0.02 }).start()' : ''
    const main = `import { lesson } from './shop.ts'\n${worker}\n${BEFORE[name] ?? ''}\n${code}\nexport { lesson }\n`
    return [name, { files: { 'shop.ts': shop, 'main.ts': main, 'products.csv': table, 'prices.csv': table } }] as const
  })
  expect(run(new Map(fragments))).toEqual(Object.fromEntries(fragments.map(([name]) => [name, []])))
})
