import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { bench, until } from '../engine/bench.ts'

/** Tables, an index, a view and a trigger with names that Highkiq's own had before they got a prefix. */
const MINE = `
  PRAGMA page_size = 65536;
  PRAGMA user_version = 7;
  PRAGMA application_id = 1234;
  CREATE TABLE task (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
  CREATE TABLE queue (name TEXT PRIMARY KEY);
  CREATE TABLE lock (task INTEGER NOT NULL REFERENCES task ON DELETE CASCADE);
  CREATE INDEX open_task ON task (title);
  CREATE VIEW batch_record AS SELECT id, title FROM task;
  CREATE TRIGGER event AFTER INSERT ON task BEGIN INSERT INTO lock VALUES (new.id); END;
  INSERT INTO task VALUES (1, 'first');
`

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-own-database-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'shop.db')
}

/** Uses the file as the user's own program would. */
async function beside<T>(path: string, use: (db: Driver) => T): Promise<T> {
  const db = await openDriver(path)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

async function newDatabase(sql: string): Promise<string> {
  const path = newPath()
  await beside(path, (db) => db.exec(sql))
  return path
}

/** Returns all that the file has beside Highkiq's own. */
const ofUser = (path: string) =>
  beside(path, (db) => ({
    objects: db
      .prepare(`SELECT type, name, sql FROM sqlite_schema WHERE tbl_name NOT LIKE 'hk\\_%' ESCAPE '\\' ORDER BY 1, 2`)
      .all()
      .filter((row) => (row as { name: string }).name !== 'sqlite_sequence'),
    tasks: db.prepare('SELECT * FROM task').all(),
    locks: db.prepare('SELECT * FROM lock').all(),
    numbers: [db.prepare('PRAGMA user_version').get(), db.prepare('PRAGMA application_id').get()],
  }))

/** Returns the error of the first call of a store on the file. */
const refusalOf = (path: string) =>
  bench({ url: `sqlite:${path}` })
    .hq.stats()
    .then(String, (error) => error)

test("jobs run in the user's database with tables task, queue and lock, and leave all that is there as it is", async () => {
  const path = await newDatabase(MINE)
  const before = await ofUser(path)
  const t = bench({ url: `sqlite:${path}` })
  const { hq } = t
  const ran: string[] = []
  const Send = hq.job(
    'Send',
    { unique: true, limit: { concurrency: 1 } },
    (_ctx, n: number) => void ran.push(`Send ${n}`),
  )
  const Row = hq.job('Row', { track: true }, (_ctx, n: number) => void ran.push(`Row ${n}`))
  const Sync = hq.ordered('Sync', { shards: 1 }, (_ctx, batch) => {
    for (const [id] of batch) ran.push(`Sync ${id}`)
  })
  await t.work()
  await Send.performAsync(1)
  const row = (await Row.performAsync(2)) as string
  await Sync.performAsync({ id: 'a', payload: 3 })
  await hq.batch({}, () => Send.set({ unique: false }).performAsync(4))
  await hq.transaction((db) => {
    db.prepare('INSERT INTO task VALUES (?, ?)').run(2, 'second')
    void Send.performAsync(5)
  })
  await until(() => ran.length === 5)
  await t.settled()
  expect(ran.toSorted()).toEqual(['Row 2', 'Send 1', 'Send 4', 'Send 5', 'Sync a'])
  expect(await hq.tasks.event(row)).toMatchObject({ status: 'finished' })
  await hq.close()
  const added = { tasks: [...before.tasks, { id: 2, title: 'second' }], locks: [...before.locks, { task: 2 }] }
  expect(await ofUser(path)).toEqual({ ...before, ...added })
})

test('the user can create such tables, and set user_version, in a file that Highkiq has made and has open', async () => {
  const path = newPath()
  const { hq } = bench({ url: `sqlite:${path}` })
  await hq.push({ class: 'A', args: [] })
  await beside(path, (db) => db.exec(MINE))
  await hq.push({ class: 'A', args: [] })
  await hq.close()
  expect(await ofUser(path)).toMatchObject({
    tasks: [{ id: 1 }],
    numbers: [{ user_version: 7 }, { application_id: 1234 }],
  })
  expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: 2 })
})

test('the store has only tables and indexes, and their names begin with hk_', async () => {
  const path = newPath()
  await bench({ url: `sqlite:${path}` }).hq.stats()
  const objects = await beside(path, (db) => db.prepare('SELECT type, name FROM sqlite_schema').all())
  expect(objects.length).toBeGreaterThan(50)
  for (const object of objects as { type: string; name: string }[]) {
    expect(object).toEqual({
      type: expect.stringMatching(/^(table|index)$/),
      name: expect.stringMatching(/^(sqlite_autoindex_)?hk_|^sqlite_sequence$/),
    })
  }
})

test.each([
  ['a new file', undefined],
  ['a file of version 0.1', gunzipSync(readFileSync(new URL('fixtures/0.1.db.gz', import.meta.url)))],
])('%s is refused while it has a table or an index of the user with a name of Highkiq', async (_, bytes) => {
  const path = newPath()
  if (bytes) writeFileSync(path, bytes)
  await beside(path, (db) => db.exec('CREATE TABLE note (text)'))
  const state = () =>
    beside(path, (db) =>
      ['SELECT name FROM sqlite_schema ORDER BY 1', 'PRAGMA journal_mode'].map((sql) => db.prepare(sql).all()),
    )
  for (const [create, drop, name] of [
    ['CREATE TABLE hk_schema (name)', 'DROP TABLE hk_schema', 'hk_schema'],
    ['CREATE INDEX hk_schema ON note (text)', 'DROP INDEX hk_schema', 'hk_schema'],
    ['CREATE TABLE hk_task (title)', 'DROP TABLE hk_task', 'hk_task'],
    ['CREATE VIEW hk_lock AS SELECT 1', 'DROP VIEW hk_lock', 'hk_lock'],
    ['CREATE INDEX hk_queue ON note (text)', 'DROP INDEX hk_queue', 'hk_queue'],
    ['CREATE TABLE hk_open_task (title)', 'DROP TABLE hk_open_task', 'hk_open_task'],
  ] as const) {
    await beside(path, (db) => db.exec(create))
    const before = await state()
    expect(await refusalOf(path)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining(`shop.db has ${name} of another program, and names that begin with hk_ are`),
    })
    expect(await state()).toEqual(before)
    await beside(path, (db) => db.exec(drop))
  }
  expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: bytes ? 116 : 0 })
})

test('a file of version 0.1 keeps the tables, triggers and views that the user has added', async () => {
  const path = newPath()
  writeFileSync(path, gunzipSync(readFileSync(new URL('fixtures/0.1.db.gz', import.meta.url))))
  await beside(path, (db) =>
    db.exec(`CREATE TABLE note (text TEXT); CREATE TABLE copy (text TEXT); CREATE VIEW notes AS SELECT text FROM note;
      CREATE TRIGGER copy_note AFTER INSERT ON note BEGIN INSERT INTO copy VALUES (new.text); END`),
  )
  const { hq } = bench({ url: `sqlite:${path}` })
  await hq.transaction((db) => {
    db.prepare('INSERT INTO note VALUES (?)').run('a')
  })
  const rows = await hq.transaction((db) => db.prepare('SELECT copy.text FROM copy JOIN notes USING (text)').all())
  expect(rows).toMatchObject([{ text: 'a' }])
})

test.each([
  ['view', 'CREATE VIEW mine AS SELECT * FROM missing'],
  ['trigger', 'CREATE TRIGGER mine AFTER INSERT ON note BEGIN INSERT INTO missing VALUES (1); END'],
])(
  'a %s with an error keeps a file of version 0.1 from being migrated, and the message names it',
  async (kind, sql) => {
    const path = newPath()
    writeFileSync(path, gunzipSync(readFileSync(new URL('fixtures/0.1.db.gz', import.meta.url))))
    await beside(path, (db) => db.exec(`CREATE TABLE note (text TEXT); ${sql}`))
    expect(await refusalOf(path)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining(
        `shop.db: the ${kind} mine keeps Highkiq's tables from being migrated (error in`,
      ),
    })
    await beside(path, (db) => db.exec(`DROP ${kind} mine`))
    expect(await bench({ url: `sqlite:${path}` }).hq.stats()).toMatchObject({ enqueued: 116 })
  },
)

test('after another program has dropped the tables, each call says so', async () => {
  const path = newPath()
  const { hq } = bench({ url: `sqlite:${path}` })
  await hq.push({ class: 'A', args: [] })
  await beside(path, (db) => {
    db.exec('PRAGMA foreign_keys = OFF')
    for (const { name } of db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all() as {
      name: string
    }[]) {
      if (name.startsWith('hk_')) db.exec(`DROP TABLE ${name}`)
    }
  })
  const message = expect.stringMatching(/shop\.db no longer has Highkiq's tables, another program has dropped them/)
  await expect(hq.push({ class: 'A', args: [] })).rejects.toMatchObject({ message })
  await expect(hq.stats()).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message })
})

test('a database that stores text in another way than UTF-8 is refused, and left as it is', async () => {
  const path = await newDatabase(`PRAGMA encoding = 'UTF-16le'; CREATE TABLE note (text TEXT)`)
  const before = readFileSync(path)
  expect(await refusalOf(path)).toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringMatching(/shop\.db stores text as UTF-16le, and Highkiq needs UTF-8/),
  })
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('maxMegabytes counts the pages of a file whose pages are large', async () => {
  const path = await newDatabase(MINE)
  const { hq } = bench({ url: `sqlite:${path}?maxMegabytes=8` })
  const push = async () => {
    for (let n = 0; n < 20; n++) await hq.push({ class: 'A', args: ['x'.repeat(500_000)] })
  }
  await expect(push()).rejects.toMatchObject({ message: expect.stringMatching(/has reached its limit/) })
})
