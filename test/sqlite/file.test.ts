import { type ChildProcess, execFile, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { StoreFile } from '#dist/store/sqlite/file/store-file.js'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function newApp(url: string): Highkiq {
  const hq = new Highkiq({ url })
  onTestFinished(() => hq.close())
  return hq
}

/** Another process on the same file. It is gone when the test is over. */
function neighbour(mode: string, url: string): { child: ChildProcess; lines: AsyncGenerator<string> } {
  const child = fork(fileURLToPath(new URL('neighbour.js', import.meta.url)), [mode, url], { silent: true })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return { child, lines: outputOf(child) }
}

async function* outputOf(child: ChildProcess): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of child.stdout as NodeJS.ReadableStream) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

const problem = (url: string) =>
  newApp(url)
    .stats()
    .then(String, (error: Error & { code: string }) => `${error.code} ${error.message}`)

test('a file that is no database is refused, and left as it is', async () => {
  const file = join(newFolder(), 'photo.jpg')
  writeFileSync(file, 'x'.repeat(5000))
  expect(await problem(`sqlite:${file}`)).toMatch(
    /^STORE_UNUSABLE .*photo\.jpg: this file is not a database: name another/,
  )
  expect(readFileSync(file, 'utf8')).toBe('x'.repeat(5000))
})

test('a file of a newer version is refused with both versions named', async () => {
  const file = join(newFolder(), 'jobs.db')
  await newApp(`sqlite:${file}`).stats()
  const db = await openDriver(file)
  db.exec('UPDATE hk_schema SET version = 99')
  db.close()
  expect(await problem(`sqlite:${file}`)).toMatch(
    /^STORE_UNUSABLE .*newer Highkiq \(schema 99, this one knows \d+\): update/,
  )
})

test('a process that has the file open writes and reads nothing more after a newer version has migrated it', async () => {
  const file = join(newFolder(), 'jobs.db')
  const hq = newApp(`sqlite:${file}`)
  await hq.push({ class: 'A', args: [] })
  const db = await openDriver(file)
  db.exec('UPDATE hk_schema SET version = 99')
  db.close()
  const failure = await hq.push({ class: 'A', args: [] }).catch((error) => error)
  expect(failure).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
  expect(failure.message).toMatch(/jobs\.db was written by a newer Highkiq \(schema 99, this one knows \d+\): update/)
  expect(await hq.stats()).toMatchObject({ enqueued: 1 })

  const newer = await openDriver(file)
  newer.exec('ALTER TABLE hk_queue RENAME COLUMN size TO jobs')
  newer.close()
  await expect(hq.stats()).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message: expect.stringMatching(/newer/) })
})

test('a damaged file is refused with advice on how to recover it', async () => {
  const file = join(newFolder(), 'jobs.db')
  const hq = newApp(`sqlite:${file}`)
  for (let i = 0; i < 200; i++) await hq.push({ class: 'A', args: ['x'.repeat(1000)] })
  await hq.close()
  const bytes = readFileSync(file)
  bytes.fill(0xff, 4096, bytes.length)
  writeFileSync(file, bytes)
  expect(await problem(`sqlite:${file}`)).toMatch(/^STORE_UNUSABLE .*damaged: stop all processes, keep a copy/)
})

test('a missing folder and a folder without write access give an error of one line', async () => {
  const folder = newFolder()
  for (const path of [join(folder, 'no', 'jobs.db'), '/proc/jobs.db', folder]) {
    const message = await problem(`sqlite:${path}`)
    expect(message).toMatch(/^STORE_UNUSABLE /)
    expect(message).toMatch(/can't be opened: see that .* exists and that this user may write to it/)
    expect(message).not.toContain('\n')
  }
})

test('an error about a store URL names valid ones', async () => {
  expect(await problem('mysql://me:secret@db/jobs')).toMatch(
    /^UNKNOWN_STORE "mysql:\/\/me:\*\*\*@db\/jobs" is not a store URL: use redis:.*sqlite:PATH/,
  )
  expect(await problem('jobs.db')).toMatch(/^UNKNOWN_STORE /)
  expect(await problem('sqlite:')).toMatch(/^INVALID_OPTION .*needs a path/)
  expect(await problem('sqlite:x.db?sync=off')).toMatch(/^INVALID_OPTION .*there is no option sync; .*synchronous/)
  expect(await problem('sqlite:x.db?synchronous=off')).toMatch(
    /^INVALID_OPTION .*one of 'full', 'normal' \(got "off"\)/,
  )
})

test('all statements of a read at once see the same state of the file, while others write', async () => {
  const path = join(newFolder(), 'jobs.db')
  const file = new StoreFile({ path, synchronous: 'NORMAL' })
  await file.open()
  onTestFinished(() => file.close())
  const other = await openDriver(path)
  onTestFinished(() => other.close())
  const sizes = (how: 'read' | 'readAtOnce') =>
    file[how]((db) => {
      const size = () => db.first<{ size: number }>('SELECT size FROM hk_job_set WHERE id = 1')?.size
      const before = size()
      other.exec('UPDATE hk_job_set SET size = size + 1 WHERE id = 1')
      return [before, size()]
    })
  expect(await sizes('readAtOnce')).toEqual([0, 0])
  expect(await sizes('read')).toEqual([1, 2])
  expect(await sizes('readAtOnce')).toEqual([2, 2])
})

test('a full file refuses whole pushes, lets the worker empty the queue, and accepts pushes again', async () => {
  const hq = newApp(`sqlite:${join(newFolder(), 'small.db')}?maxMegabytes=1`)
  const seen = new Set<number>()
  const Job = hq.job('Fill', async (_ctx, n: number, _ballast: string) => {
    seen.add(n)
  })
  let stored = 0
  const failure = await (async () => {
    for (; stored < 5000; stored++) await Job.performAsync(stored, 'x'.repeat(1000))
  })().catch((error) => error)
  expect(failure).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false, jids: [expect.any(String)] })
  expect(failure.message).toMatch(/has reached its limit .*nothing was stored/)
  expect(await hq.stats()).toMatchObject({ enqueued: stored })

  const worker = hq.worker()
  await worker.start()
  while (seen.size < stored) await new Promise((resume) => setTimeout(resume, 10))
  await Job.performAsync(stored, 'x'.repeat(1000))
  while (seen.size < stored + 1) await new Promise((resume) => setTimeout(resume, 10))
  await worker.stop()
  expect(await hq.stats()).toMatchObject({ processed: stored + 1, enqueued: 0 })
})

test.runIf(process.getuid?.() === 0 && process.platform === 'linux')(
  'a disk that is full in earnest loses nothing either',
  async () => {
    const folder = newFolder()
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk])
    const hq = new Highkiq({ url: `sqlite:${disk}/jobs.db` })
    try {
      const seen = new Set<number>()
      const Job = hq.job('Fill', async (_ctx, n: number, _ballast: string) => {
        seen.add(n)
      })
      let stored = 0
      const failure = await (async () => {
        for (; stored < 5000; stored++) await Job.performAsync(stored, 'x'.repeat(1000))
      })().catch((error) => error)
      expect(failure).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
      expect(await hq.stats()).toMatchObject({ enqueued: stored })
      execFileSync('mount', ['-o', 'remount,size=20m', disk])
      await hq.worker().start()
      while (seen.size < stored) await new Promise((resume) => setTimeout(resume, 10))
    } finally {
      await hq.close()
      execFileSync('umount', ['-l', disk])
    }
  },
)

test('eight processes can open a new file at once', async () => {
  const url = `sqlite:${join(newFolder(), 'new.db')}`
  const codes = await Promise.all(
    Array.from({ length: 8 }, async () => (await once(neighbour('open', url).child, 'exit'))[0]),
  )
  expect(codes).toEqual(Array(8).fill(0))
})

test('beside a process that writes without a pause another one can write, and its event loop stays free', async () => {
  const url = `sqlite:${join(newFolder(), 'busy.db')}`
  const { lines } = neighbour('write', url)
  const hq = newApp(url)
  await lines.next()
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let hundreds = 0
  const counting = (async () => {
    for await (const _ of lines) hundreds++
  })()
  let mine = 0
  const longest: number[] = []
  while (hundreds < 10) {
    const began = performance.now()
    await hq.push({ class: 'Nobody', args: [], queue: 'mine' })
    longest.push(performance.now() - began)
    mine++
  }
  delay.disable()
  void counting
  // Every push of both processes is a transaction, and both must get a fair share.
  expect(mine).toBeGreaterThan(hundreds * 100 * 0.1)
  expect(Math.max(...longest)).toBeLessThan(2000)
  expect(delay.percentile(99) / 1e6).toBeLessThan(200)
})

test('a waiting worker in another process gets a push at once, not at its next poll', async () => {
  const url = `sqlite:${join(newFolder(), 'wake.db')}`
  const { lines } = neighbour('work', url)
  expect((await lines.next()).value).toBe('ready')
  const hq = newApp(url)
  const waits: number[] = []
  for (let i = 0; i < 15; i++) {
    await hq.push({ class: 'Arrive', args: [Date.now()], queue: 'arrivals' })
    waits.push(Number((await lines.next()).value))
    await new Promise((resume) => setTimeout(resume, 30))
  }
  waits.sort((a, b) => a - b)
  // The poll comes every 250 ms: without the watch half of these would take longer than 125 ms.
  expect(waits[7]).toBeLessThan(60)
})

test('a closed store leaves nothing but its file, and refuses what comes later', async () => {
  const folder = newFolder()
  const hq = newApp(`sqlite:${folder}/jobs.db`)
  await hq.push({ class: 'A', args: [] })
  await hq.close()
  // libsql closes the log only when its statements are collected as garbage; the log is empty by then.
  const log = statSync(`${folder}/jobs.db-wal`, { throwIfNoEntry: false })
  expect(log?.size ?? 0).toBe(0)
  await expect(hq.stats()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  await expect(hq.push({ class: 'A', args: [] })).rejects.toMatchObject({ code: 'PUSH_FAILED' })
})

test('a worker keeps its lease and its file after the process has changed the working folder', async () => {
  const [here, there] = [newFolder(), newFolder()]
  const script = fileURLToPath(new URL('elsewhere.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, there], { cwd: here })
  expect(stdout).toBe('renewed\n')
  expect(readdirSync(there)).toEqual([])
  expect(readdirSync(here)).toContain('jobs.db')
})
