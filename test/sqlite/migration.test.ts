import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { JobContext } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { migrations } from '#dist/store/sqlite/sql.generated.js'
import { sure } from '../conformance/bench.ts'
import { expectExact } from '../conformance/tasks/tracked.ts'
import { all, type Bench, bench, until } from '../engine/bench.ts'

/** The schema of version 0.1, and the first one that has its version in the table hk_schema. */
const SCHEMA_0_1 = 12
const FIRST_WITH_TABLE = 36
/** The last schema that keeps the score of each finished job that nobody has read. */
const LAST_WITH_SCORES = 43

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-migration-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'jobs.db')
}

/** Returns a file as a process of version 0.1 left it; fixtures/make-0.1.js says what is in it. */
function fileOf01(): string {
  const path = newPath()
  writeFileSync(path, gunzipSync(readFileSync(new URL('fixtures/0.1.db.gz', import.meta.url))))
  return path
}

/** Returns the schema version and the names of all tables and columns. */
async function schemaOf(path: string) {
  const db = await openDriver(path)
  const isInTable = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'hk_schema'`).all().length > 0
  const { version } = db
    .prepare(`SELECT ${isInTable ? 'version FROM hk_schema' : 'user_version AS version FROM pragma_user_version'}`)
    .get() as { version: number }
  const columns = `SELECT m.name || '.' || c.name AS name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
    WHERE m.type = 'table' ORDER BY 1`
  const names = db.prepare(columns).all() as { name: string }[]
  db.close()
  return { version, names: names.map(({ name }) => name) }
}

async function withFile(path: string, use: (db: Driver) => void): Promise<void> {
  const db = await openDriver(path)
  use(db)
  db.close()
}

const rowsOf = (n: number): number[][] => Array.from({ length: n }, (_, i) => [i])

/** Defines the jobs of the fixture; returns the names of those that ran with their arguments, in the order of their runs. */
function defineJobs({ hq }: Bench): string[] {
  const ran: string[] = []
  const run =
    (name: string) =>
    (_ctx: JobContext, ...args: unknown[]) =>
      void ran.push(`${name} ${JSON.stringify(args)}`)
  for (const name of ['Broken', 'Hopeless', 'Wait', 'Crash', 'Hang', 'HangRow', 'Price', 'Row', 'Done', 'Tick']) {
    hq.job(name, run(name))
  }
  for (const name of ['Sync', 'HangSync']) {
    hq.ordered(name, { shards: name === 'Sync' ? 2 : 1, batchSize: 1 }, (_ctx, batch) => {
      for (const [id, payloads] of batch) ran.push(`${name} ${id} ${JSON.stringify(payloads)}`)
    })
  }
  return ran
}

/** Returns each table with its columns, and each index with its condition, without comments and in a fixed order. */
function structureOf(db: Awaited<ReturnType<typeof openDriver>>) {
  const sql = `SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'`
  const found = db.prepare(sql).all() as { name: string; type: string; sql: string }[]
  const plain = (text: string) => text.replace(/--.*$/gm, '').replaceAll('"', '').replace(/\s+/g, ' ').trim()
  return found
    .map(({ name, type, sql }) => {
      if (type === 'index') return `${name}: ${plain(sql)}`
      const body = plain(sql).replace(/^[^(]*\(|\)[^)]*$/g, '')
      const parts = body.split(/,(?![^(]*\))/).map((part) => part.trim())
      return `${name}: ${parts.toSorted().join(', ')}`
    })
    .toSorted()
}

test('a migrated file of version 0.1 has the schema of a new file', async () => {
  const paths = [fileOf01(), newPath()]
  const structures = []
  for (const path of paths) {
    const store = openStore(`sqlite:${path}`)
    await store.metrics.totals()
    await store.close()
    const db = await openDriver(path)
    structures.push(structureOf(db))
    db.close()
  }
  expect(structures[0]).toEqual(structures[1])
  expect(await schemaOf(paths[0] as string)).toEqual(await schemaOf(paths[1] as string))
})

test('processes of older versions see by user_version that a migrated file is newer', async () => {
  const path = fileOf01()
  const store = openStore(`sqlite:${path}`)
  await store.metrics.totals()
  await store.close()
  const db = await openDriver(path)
  expect(db.prepare('PRAGMA application_id').get()).toMatchObject({ application_id: 0x484b4951 })
  expect(db.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: FIRST_WITH_TABLE })
  db.close()
})

test('a file from before version 0.1 is refused and left as it is', async () => {
  const path = newPath()
  const old = await openDriver(path)
  old.exec(`CREATE TABLE queue (id INTEGER); PRAGMA application_id = ${0x484b4951}; PRAGMA user_version = 7`)
  old.close()
  const before = await schemaOf(path)
  const store = openStore(`sqlite:${path}`)
  const refused = { code: 'STORE_UNUSABLE', message: expect.stringContaining('was written before version 0.1') }
  await expect(store.metrics.totals()).rejects.toMatchObject(refused)
  await store.close()
  expect(await schemaOf(path)).toEqual(before)
})

test('all work of a file of version 0.1 is there after the migration', async () => {
  const path = fileOf01()
  expect(await schemaOf(path)).toMatchObject({ version: SCHEMA_0_1 })
  const { hq } = bench({ url: `sqlite:${path}` })

  expect(await hq.stats()).toMatchObject({ enqueued: 116, scheduled: 2, retries: 1, dead: 3, backlog: 917 })
  const queues = Object.fromEntries((await hq.queueSummaries()).map(({ name, size }) => [name, size]))
  expect(queues).toMatchObject({ crashing: 1, waiting: 9, rows: 106, hanging: 0, 'hanging-rows': 0 })
  expect(await hq.store.metrics.totals()).toMatchObject({ fetched: 5 })
  expect(await hq.result('add000000000000000000000')).toBe(5)

  const { items } = await hq.tasks.list()
  const none = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
  const task = (name: string) => {
    const found = items.find((status) => status.name === name)
    if (!found) throw new Error(`no task ${name}`)
    return found
  }
  const counts = { ...none, finished: 6, failed: 2, error: 2 }
  expect(task('prices')).toMatchObject({ state: 'done', total: 10, counts, maxFailures: null })
  const strict = { maxFailures: 0, onMaxFailures: 'pause', window: 1, backlog: 2 }
  expect(task('strict')).toMatchObject({ state: 'paused', counts: { ...none, enqueued: 2, failed: 1 }, ...strict })
  const cancelled = { ...none, failed: 1, cancelled: 1 }
  expect(task('cancelled')).toMatchObject({ state: 'cancelled', counts: cancelled, onMaxFailures: 'cancel' })
  expect(task('running')).toMatchObject({ state: 'running', counts: { ...none, enqueued: 10 }, backlog: 7, window: 3 })
  expect(task('paused')).toMatchObject({ state: 'paused', counts: { ...none, enqueued: 5 }, backlog: 3 })
  expect(task('in lists')).toMatchObject({ state: 'running', rowsPerJob: 2, backlog: 3 })
  expect(task('working')).toMatchObject({ state: 'running', counts: { ...none, enqueued: 2, working: 2 } })
  expect(task('interrupted')).toMatchObject({ state: 'adding', total: 1000, backlog: 900 })
  for (const one of items) await expectExact(hq, one)
  expect(await hq.store.tasks.find(task('prices').id)).toMatchObject({ keepArgs: 'all' })
  expect(await hq.store.tasks.find(task('cancelled').id)).toMatchObject({ keepArgs: 'none' })
  expect(await hq.store.tasks.find(task('strict').id)).toMatchObject({ lostAfter: 7_200_000, keepArgs: 'rejected' })
  const message = (text: string) => expect.arrayContaining([expect.objectContaining({ text })])
  const events = await all(hq.tasks.get(task('prices').id).events())
  expect(events[0]).toMatchObject({ status: 'finished', args: [0], result: { n: 0 }, messages: message('saw 0') })
  expect(events[3]).toMatchObject({ status: 'failed', code: 'price', messages: message('3 is no price') })
  expect(events[4]).toMatchObject({ status: 'error', attempts: 1 })

  expect((await hq.stats()).ordered.queues).toMatchObject({
    HangSync: { length: 0, morgueLength: 0 },
    Sync: { length: 3, morgueLength: 1 },
  })
  const { waiting } = await hq.ordered('Sync').find('failing')
  expect(waiting).toMatchObject({ retryCount: 0, payloads: [{ score: 1 }, { score: 2 }] })
  expect(await hq.ordered('HangSync').find('a')).toMatchObject({ waiting: { size: 1 }, inFlight: { shard: 0 } })

  expect(await hq.cron('stopped').info()).toMatchObject({ paused: true, lastJid: null })
  expect(await hq.cron('ticking').info()).toMatchObject({ paused: false, lastJid: expect.any(String) })
  const day = task('prices').createdAt.toISOString().slice(0, 10)
  expect(await hq.store.metrics.deploys([day])).toMatchObject([{ label: 'v0.1' }])
})

test('codes that version 0.1 gave to events are renamed, and equal codes of the app’s errors stay', async () => {
  const path = fileOf01()
  const old = await openDriver(path)
  const taskOf = (name: string) =>
    (old.prepare('SELECT key FROM task WHERE name = ?').all(name)[0] as { key: number }).key
  const [prices, cancelled] = [taskOf('prices'), taskOf('cancelled')]
  const [dropped] = old.prepare('SELECT idx FROM event WHERE task = ? AND status = 5').all(cancelled) as {
    idx: number
  }[]
  const events = [
    { task: prices, idx: 3, code: 'stalled', messages: { failed: { text: 'no price' } } },
    { task: prices, idx: 8, code: 'ran-elsewhere', messages: { failed: { text: 'no price' } } },
    {
      task: prices,
      idx: 4,
      code: 'foreign',
      messages: { apart: { text: 'broken' }, foreign: {}, message: { text: 'saw' } },
    },
    {
      task: prices,
      idx: 9,
      code: 'foreign',
      messages: { restored: { stalls: 1 }, stalled: { stalls: 3 }, error: { text: 'x' } },
    },
    { task: cancelled, idx: dropped?.idx as number, code: 'stopped', messages: { stopped: {} } },
  ]
  for (const { task, idx, code, messages } of events) {
    old.prepare('UPDATE event SET code = ? WHERE task = ? AND idx = ?').run(code, task, idx)
    old.prepare('DELETE FROM message WHERE task = ? AND idx = ?').run(task, idx)
    for (const [i, [code, params]] of Object.entries(messages).entries()) {
      const add = old.prepare('INSERT INTO message (task, idx, n, at, code, params) VALUES (?, ?, ?, 1, ?, ?)')
      add.run(task, idx, i + 1, code, JSON.stringify(params))
    }
  }
  const counts = 'SELECT task, status, code, count(*) FROM event WHERE status >= 3 GROUP BY task, status, code'
  old.exec(
    `DELETE FROM reason; INSERT INTO reason SELECT task, status, coalesce(code, ''), n FROM (${counts.replace('count(*)', 'count(*) AS n')})`,
  )
  const reason = JSON.stringify({ at: 1, code: 'tolerance', params: { rejected: 1, ended: 1 } })
  old.prepare('UPDATE task SET reason = ? WHERE key = ?').run(reason, cancelled)
  old.close()

  const { hq } = bench({ url: `sqlite:${path}` })
  const { items } = await hq.tasks.list()
  const eventsOf = async (name: string) => {
    const { id } = items.find((task) => task.name === name) ?? {}
    return { id: id as string, events: await hq.store.tasks.events(id as string, { limit: 99 }) }
  }
  const of = await eventsOf('prices')
  const shown = of.events.map(({ code, messages }) => [
    code,
    ...messages.map((one) => `${one.code} ${JSON.stringify(one.params)}`),
  ])
  expect(shown[3]).toEqual(['stalled', 'failed {"text":"no price"}'])
  expect(shown[8]).toEqual(['ran-elsewhere', 'failed {"text":"no price"}'])
  expect(shown[4]).toEqual(['ran-elsewhere', 'split {"text":"broken"}', 'ran-elsewhere {}', 'message {"text":"saw"}'])
  expect(shown[9]).toEqual(['foreign', 'rescued {"crashes":1}', 'crashed {"crashes":3}', 'error {"text":"x"}'])
  expect(await hq.store.tasks.reasons(of.id)).toEqual([
    { status: 'failed', code: 'ran-elsewhere', count: 1 },
    { status: 'failed', code: 'stalled', count: 1 },
    { status: 'error', code: 'foreign', count: 1 },
    { status: 'error', code: 'ran-elsewhere', count: 1 },
  ])
  const indexes = async (code: string) =>
    (await hq.store.tasks.events(of.id, { code, limit: 9 })).map(({ index }) => index)
  expect(await indexes('ran-elsewhere')).toEqual([4, 8])
  expect(await indexes('foreign')).toEqual([9])
  expect(await indexes('stalled')).toEqual([3])
  const other = await eventsOf('cancelled')
  expect(other.events.filter(({ code }) => code === 'filtered')).toMatchObject([{ messages: [{ code: 'filtered' }] }])
  expect(await hq.store.tasks.find(other.id)).toMatchObject({ reason: { code: 'too-many-failures' } })
  for (const one of items) await expectExact(hq, one)
})

test('today’s workers do each job of a file of version 0.1 once', async () => {
  const path = fileOf01()
  const t = bench({ url: `sqlite:${path}` })
  t.clock.ahead = 3600
  const ran = defineJobs(t)
  const { hq } = t
  const { items } = await hq.tasks.list()
  const id = (name: string) => items.find((task) => task.name === name)?.id as string
  const task = (name: string) => hq.tasks.get(id(name))
  const state = async (name: string) => (await task(name).status())?.state

  // The processes of 0.1 are dead. Claiming them saves the time until their leases have ended.
  for (const { owner, claimed } of await hq.store.workers.leases()) {
    if (!claimed) await hq.store.workers.claim(owner)
  }
  const queues = ['default', 'prices', 'waiting', 'crashing', 'rows', 'hanging', 'hanging-rows']
  await t.work({ queues, leaseSeconds: 1, concurrency: 20 })
  for (const name of ['running', 'in lists', 'working']) await until(async () => (await state(name)) === 'done')
  await until(async () => (await state('interrupted')) === 'interrupted')
  await until(async () => (await task('interrupted').status())?.counts.finished === 1000)
  await until(async () => (await hq.ordered('HangSync').stats()).processed === 2)
  expect(await task('interrupted').resumeAdding(hq.jobNamed('Row'), rowsOf(1005))).toBe(5)
  for (const name of ['strict', 'paused']) await task(name).resume()
  await task('prices').retry()
  await hq.ordered('Sync').morgue.resurrect(['dead'])
  await hq.dead.retryAll()
  for (const name of ['strict', 'paused', 'prices', 'interrupted']) {
    await until(async () => (await state(name)) === 'done')
  }
  await until(async () => (await hq.ordered('Sync').stats()).processed === 4)
  await t.settled()

  const rows = (name: string, all: number[][]) => all.map((args) => `${name} ${JSON.stringify(args)}`)
  const expected = [
    ...rows('Row', [...rowsOf(10), ...rowsOf(5), ...rowsOf(1005)]),
    ...['[[0,1]]', '[[2,3]]', '[[4]]'].map((list) => `Row ${list}`),
    ...rows('HangRow', rowsOf(4)),
    ...rows('Hang', rowsOf(2)),
    ...rows('Price', [[5], [6], [3], [4], [8], [9]]),
    ...rows('Wait', rowsOf(5)),
    'Wait ["due"]',
    'Wait ["tracked"]',
    'Tick []',
    'Broken []',
    'Hopeless []',
    'Crash [1]',
    ...[1, 1, 2].map((run) => `Done ["${id('prices')}",${run}]`),
    'Sync failing [1,2]',
    'Sync waiting [1,2]',
    'Sync dead [1]',
    'HangSync b [1]',
    'HangSync a [1,2,3]',
  ]
  expect(ran.toSorted()).toEqual(expected.toSorted())
  expect(await hq.stats()).toMatchObject({ enqueued: 0, scheduled: 1, retries: 0, dead: 0, backlog: 0 })
  expect((await hq.stats()).ordered.total).toMatchObject({ length: 1, morgueLength: 0 })
  for (const one of items) await expectExact(hq, one)
})

test('finished jobs that nobody has read are there after the migration of their packs', async () => {
  const path = fileOf01()
  const texts = ['{"jid":"1"}', '{"jid":"ü🦙"}', '{"jid":"3"}']
  const bytes = texts.map((text) => Buffer.from(text))
  let start = 0
  const spans = bytes.map(({ length }) => {
    start += length
    return (start - length) * 2 ** 25 + length
  })
  await withFile(path, (db) => {
    const before = migrations.slice(0, LAST_WITH_SCORES - SCHEMA_0_1)
    db.exec(['BEGIN;', ...before, `UPDATE hk_schema SET version = ${LAST_WITH_SCORES};`, 'COMMIT;'].join('\n'))
    db.prepare(`INSERT INTO hk_entry ("set", score, text) VALUES (-1, 4, '{"jid":"0"}')`).run()
    const add = db.prepare(
      'INSERT INTO hk_finished_pack (size, oldest, newest, scores, spans, texts) VALUES (?, ?, ?, ?, ?, ?)',
    )
    add.run(2, 5.5, 6, '[5.5,6]', JSON.stringify(spans.slice(0, 2)), Buffer.concat(bytes.slice(0, 2)))
    add.run(1, 7, 7, '[7]', JSON.stringify([bytes[2]?.length]), bytes[2] as Buffer)
    db.exec('UPDATE hk_job_set SET size = 4 WHERE id = -1')
  })
  const store = openStore(`sqlite:${path}`)
  onTestFinished(() => store.close())
  expect(await store.jobSets.size('finished')).toBe(4)
  const page = await store.jobSets.page('finished', { limit: 9 })
  expect(page.map(({ text, score }) => [text, score])).toEqual([
    ['{"jid":"0"}', 4],
    ...texts.map((text, i) => [text, [5.5, 6, 7][i]]),
  ])
})

test('a migration that fails changes nothing', async () => {
  const path = fileOf01()
  const before = await schemaOf(path)
  const db = await openDriver(path)
  db.exec('CREATE TABLE ordered_in_flight (x)')
  db.close()
  const store = openStore(`sqlite:${path}`)
  await expect(store.metrics.totals()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  await store.close()
  const again = await openDriver(path)
  again.exec('DROP TABLE ordered_in_flight')
  again.close()
  expect(await schemaOf(path)).toEqual(before)
  const { hq } = bench({ url: `sqlite:${path}` })
  expect(await hq.stats()).toMatchObject({ enqueued: 116 })
})

test("a file that can't grow keeps its jobs, and the error of its migration names the cause", async () => {
  const path = fileOf01()
  const neighbour = fileURLToPath(new URL('limited.js', import.meta.url))
  // A process may write no file that is larger, in units of 1024 bytes.
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -f 64; exec node "$0" "$1"', neighbour, path], {
    encoding: 'utf8',
  })
  expect(JSON.parse(stdout)).toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('the disk reports an error'),
  })
  expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: 116 })
})

test.each(['user_version = 100', 'user_version = 3', 'application_id = 1234'])(
  'a file of version 0.1 with another %s is refused and left as it is, and migrated once it is set back',
  async (pragma) => {
    const path = fileOf01()
    await withFile(path, (db) => db.exec(`PRAGMA ${pragma}`))
    const before = await schemaOf(path)
    const store = openStore(`sqlite:${path}`)
    const error = await store.metrics.totals().then(String, (thrown) => thrown)
    await store.close()
    expect(error).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining(`(${pragma.split(' ')[2]})`),
    })
    expect(await schemaOf(path)).toEqual(before)
    const [, advice] = /run "([^"]*)"/.exec(error.message) as string[]
    await withFile(path, (db) => db.exec(sure(advice)))
    expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: 116 })
  },
)

test('four processes can open a file of version 0.1 at once', async () => {
  const path = fileOf01()
  const neighbour = fileURLToPath(new URL('neighbour.js', import.meta.url))
  const exits = Array.from({ length: 4 }, () => once(fork(neighbour, ['open', `sqlite:${path}`]), 'exit'))
  expect((await Promise.all(exits)).map(([code]) => code)).toEqual([0, 0, 0, 0])
  expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: 116 })
})

test('a file whose migration was killed is migrated by the next process', async () => {
  const path = fileOf01()
  const old = await openDriver(path)
  for (const migration of migrations.slice(0, -1)) old.exec(migration)
  const version = SCHEMA_0_1 + migrations.length - 1
  old.exec(
    version < FIRST_WITH_TABLE ? `PRAGMA user_version = ${version}` : `UPDATE hk_schema SET version = ${version}`,
  )
  old.exec('PRAGMA journal_mode = WAL')
  old.close()
  const before = await schemaOf(path)
  const child = fork(fileURLToPath(new URL('half-migrated.js', import.meta.url)), [path])
  await once(child, 'message')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await schemaOf(path)).toEqual(before)
  const { hq } = bench({ url: `sqlite:${path}` })
  expect(await hq.stats()).toMatchObject({ enqueued: 116, dead: 3, backlog: 917 })
})
