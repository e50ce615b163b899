import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf, pages } from './blocks.ts'

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

/** Each whole program that has no file name, by its page and the heading above it. */
const LESSONS: Record<string, Lesson> = {
  'docs/alerts.md, Send alerts to Slack': {},
  'docs/alerts.md, Send e-mails': {},
  'docs/alerts.md, Call your own webhook': {},
  'docs/alerts.md, Choose what is sent': {},
  'docs/alerts.md, Keep the nights quiet': {},
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
  'docs/deferred.md, Rows that end elsewhere (2)': {},
  'docs/encryption.md, The shortest version': {
    env: { JOB_KEY: KEY },
    prints: ['to an account that ends with 1234 order=7'],
  },
  'docs/encryption.md, Change the key': { env: { JOB_KEY_1: KEY, JOB_KEY_2: OTHER_KEY } },
  'docs/events.md, Events': {
    prints: ['TIME pushed HardJob JID', 'TIME started HardJob JID', 'TIME succeeded HardJob JID'],
  },
  'docs/events.md, What is recorded, and when': {},
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
  'docs/finished.md, List, search, repeat and delete them': {},
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
  'docs/limits.md, Limit a queue, or all jobs': {},
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
      'postgres-store.ts': `
import { registerStore } from 'highkiq/store'
import { openStore } from '${root}dist/store/open.js'
registerStore('postgres', (_url, settings) => openStore('sqlite::memory:', settings))`,
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
  'docs/wire.md, The format on Redis': {},
  'docs/wire.md, Numbers': {},
}

/** The programs by their page and heading; the second one below a heading has a number. */
function programs(): Map<string, string> {
  const found = new Map<string, string>()
  for (const page of pages) {
    for (const { heading, code, file } of blocksOf(page, 'ts')) {
      if (file !== undefined || !code.includes('new Highkiq(')) continue
      const name = `${page}, ${heading}`
      found.set(found.has(name) ? `${name} (2)` : name, code)
    }
  }
  return found
}

test('each whole program of the docs runs as it stands, and prints what its page says', { timeout: 180_000 }, () => {
  const found = programs()
  expect([...found.keys()].sort()).toEqual(Object.keys(LESSONS).sort())
  const all = mkdtempSync(join(tmpdir(), 'highkiq-lessons-'))
  onTestFinished(() => rmSync(all, { recursive: true, force: true }))
  const packages = join(all, 'node_modules')
  mkdirSync(packages)
  symlinkSync(root, join(packages, 'highkiq'))
  symlinkSync(join(root, 'node_modules/@opentelemetry'), join(packages, '@opentelemetry'))
  writeFileSync(join(all, 'package.json'), '{ "type": "module" }')
  const folders = Object.entries(LESSONS).map(
    ([name, { env, files = {}, before = '', after = '', prints = [] }], i) => {
      const folder = join(all, String(i))
      mkdirSync(folder)
      for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
      const code = found.get(name) ?? ''
      const [, app] = /(\w+) = new Highkiq\(/.exec(code) ?? []
      writeFileSync(join(folder, 'main.ts'), `${before}\n${code}\n${after}\nexport { ${app} as lesson }\n`)
      writeFileSync(join(folder, 'lesson.json'), JSON.stringify({ env, lines: prints.length }))
      return folder
    },
  )
  const tsx = join(root, 'node_modules/tsx/dist/loader.mjs')
  const runner = fileURLToPath(new URL('run-lessons.ts', import.meta.url))
  const printed = execFileSync(process.execPath, ['--import', tsx, runner, ...folders], {
    cwd: all,
    encoding: 'utf8',
    maxBuffer: 1e8,
  })
  const results: Record<string, string[]> = JSON.parse(printed)
  const names = Object.keys(LESSONS)
  expect(Object.fromEntries(folders.map((folder, i) => [names[i], results[folder]]))).toEqual(
    Object.fromEntries(names.map((name) => [name, LESSONS[name]?.prints ?? []])),
  )
})
