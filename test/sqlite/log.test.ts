import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { Checkpoints } from '#dist/store/sqlite/file/checkpoints.js'
import { Database } from '#dist/store/sqlite/file/database.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { Writer } from '#dist/store/sqlite/file/writer.js'

/** The number of megabytes to write; the long form has 1,000, as in an hour. */
const MEGABYTES = Number(process.env.HIGHKIQ_LOG_MEGABYTES ?? 100)
const LIMIT = 128e6
const SECONDS = MEGABYTES > 100 ? 600 : 120

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'jobs.db')
}

function appOn(file: string) {
  const warnings: string[] = []
  const warn = (_fields: object, message: string) => warnings.push(message)
  const logger = { debug() {}, info() {}, error() {}, warn, child: () => logger } as never
  const hq = new Highkiq({ url: `sqlite:${file}?synchronous=normal`, logger })
  onTestFinished(() => hq.close())
  return { hq, warnings, logBytes: () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0 }
}

/** Pushes jobs with this many bytes in total. */
async function write(hq: Highkiq, queue: string, bytes: number): Promise<void> {
  const args = 'x'.repeat(10_000)
  const text = JSON.stringify({ class: 'J', args: [args], jid: 'a', queue })
  const items = Array.from(
    { length: Math.ceil(bytes / 10_000) },
    () => ({ to: 'queue', queue, text, end: 'back' }) as const,
  )
  await hq.store.jobs.push(items, Date.now())
}

test('beside processes that read without a pause the log stays below 128 MB, and the lease is renewed in time', {
  timeout: SECONDS * 1000,
}, async () => {
  const file = newFile()
  const { hq, warnings, logBytes } = appOn(file)
  await write(hq, 'long', 5e6)
  const worker = hq.worker({ queues: ['none'], leaseSeconds: 5 })
  await worker.start()
  for (let n = 0; n < 3; n++) {
    const child = fork(fileURLToPath(new URL('neighbour.js', import.meta.url)), ['read', `sqlite:${file}`], {
      silent: true,
    })
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    await once(child.stdout as NodeJS.ReadableStream, 'data')
  }
  let largest = 0
  for (let megabytes = 0; megabytes < MEGABYTES; megabytes++) {
    await write(hq, 'out', 1e6)
    largest = Math.max(largest, logBytes())
    expect((await hq.store.workers.leases()).filter(({ ended }) => ended)).toEqual([])
  }
  expect(largest).toBeLessThan(LIMIT)
  expect(warnings).toEqual([])
})

test('a warning names once that a program holds a large log open, with its age; when it ends the log is emptied', {
  timeout: 300_000,
}, async () => {
  const file = newFile()
  const { hq, warnings, logBytes } = appOn(file)
  await write(hq, 'out', 1e6)
  const reader = await openDriver(file)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM hk_ready').all()
  await write(hq, 'out', 60e6)
  while (warnings.length === 0) await write(hq, 'out', 1000)
  expect(warnings[0]).toMatch(
    /jobs\.db: a program has been reading it in one transaction for at least \d+ s, so its log can't be emptied and has \d+ MB: find the program/,
  )
  for (const end = performance.now() + 1500; performance.now() < end; ) await write(hq, 'out', 1000)
  expect(warnings).toHaveLength(1)
  reader.exec('ROLLBACK')
  reader.close()
  while (logBytes() > 16 * 1024 * 1024) await write(hq, 'out', 1000)
  expect(warnings).toHaveLength(1)
})

test('a write resolves when the work after its commit throws, and one warning says so', async () => {
  const db = await Database.open({ path: newFile(), synchronous: 'NORMAL' })
  onTestFinished(() => db.close())
  const warnings: string[] = []
  const afterCommit = () => {
    throw new Error('no thread to be had')
  }
  const writer = new Writer(db, afterCommit, (message) => warnings.push(message))
  expect(await Promise.all([writer.write(() => 1), writer.write(() => 2)])).toEqual([1, 2])
  await writer.alone(
    async () => 3,
    () => {},
    1,
  )
  expect(await writer.write(() => 4)).toBe(4)
  expect(warnings).toEqual([expect.stringMatching(/jobs\.db: what follows a commit failed: no thread to be had/)])
  await writer.close()
})

test('when the thread that empties the log fails, one warning says so, and it is started again', async () => {
  const file = newFile()
  const db = await Database.open({ path: file, synchronous: 'NORMAL' })
  onTestFinished(() => db.close())
  const warnings: string[] = []
  const options = { path: '/nowhere/jobs.db', synchronous: 'NORMAL' as const }
  const checkpoints = new Checkpoints(db, options, (message) => warnings.push(message))
  onTestFinished(() => checkpoints.close())
  const write = (bytes: number) => {
    db.run('CREATE TABLE IF NOT EXISTS large (bytes BLOB)')
    db.run('INSERT INTO large VALUES (zeroblob(?))', bytes)
    checkpoints.committed()
  }
  const reader = await openDriver(file)
  write(1)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM large').all()
  for (let n = 0; n < 8; n++) write(10e6)
  await expect.poll(() => warnings.length).toBe(1)
  expect(warnings).toEqual([
    expect.stringMatching(
      /jobs\.db: the thread that empties the log does not run \(.*\): writes copy the log themselves/,
    ),
  ])
  options.path = file
  // Only the thread sees the reader.
  const warned = () => {
    write(5e6)
    return warnings.length
  }
  await expect.poll(warned, { interval: 100 }).toBe(2)
  expect(warnings[1]).toMatch(/a program has been reading it in one transaction/)
  reader.exec('ROLLBACK')
  reader.close()
})
