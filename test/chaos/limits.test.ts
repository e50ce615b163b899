import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { bench, gate, Heard, until } from '../engine/bench.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { Crew } from './crew.ts'
import { limitsSuite } from './limits-suite.ts'

const PROGRAM = fileURLToPath(new URL('limit-worker.js', import.meta.url))
const KEYS = ['a', 'b', 'c']
const JOBS = 240
const KILLS = 5

limitsSuite(20)

test('workers are killed and their clocks are set: no limit is exceeded, and all jobs run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  await storm(`sqlite:${folder}/chaos.db`, folder)
  rmSync(folder, { recursive: true, force: true })
}, 180_000)

onRedis('limits on Redis while workers are killed', () => {
  test('no limit is exceeded, and all jobs run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
    const server = await startServer()
    try {
      await storm(server.url(), folder)
      rmSync(folder, { recursive: true, force: true })
    } finally {
      await server.remove()
    }
  }, 180_000)
})

async function storm(url: string, folder: string): Promise<void> {
  const seed = Number(process.env.HIGHKIQ_TEST_SEED ?? Date.now())
  const random = chance(seed)
  const hq = new Highkiq({ url })
  const crew = new Crew({ url, folder, processes: 3, concurrency: 4, program: PROGRAM })
  try {
    await hq.pushBulk({ class: 'Limited', args: Array.from({ length: JOBS }, (_, n) => [KEYS[n % KEYS.length], n]) })
    await crew.start()
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(200 + random() * 300)
      await crew.replace(random)
    }
    const done = () => new Set(runsIn(folder).flatMap(({ n, ended }) => (ended ? [n] : []))).size
    await until(() => done() === JOBS)
    await until(async () => (await hq.limits.list()).length === 0)
    await crew.stop()
    expect([...crew.complaints, ...exceeded(folder)], `seed ${seed}`).toEqual([])
  } finally {
    crew.kill()
    await hq.close()
  }
}

/** Returns where more jobs of a key ran at a time, or started within a second, than the limit of limit-worker.js allows. */
function exceeded(folder: string): string[] {
  const complaints: string[] = []
  for (const key of KEYS) {
    const runs = runsIn(folder).filter((run) => run.key === key)
    for (const { began } of runs) {
      const most = runs.filter((run) => run.began <= began && began < (run.ended ?? run.last)).length
      if (most > 2) complaints.push(`${most} jobs of ${key} ran at ${began}`)
      // A worker may start what it got a little late: at most one job of each of three processes and of those killed.
      const starts = runs.filter((run) => run.began >= began && run.began < began + 1_000_000).length
      if (starts > 42 + 1 + 3 + KILLS) complaints.push(`${starts} jobs of ${key} started within a second of ${began}`)
    }
  }
  return complaints
}

/** The runs of jobs, in microseconds; `last` is when a process that was killed surely still lived. */
function runsIn(folder: string) {
  return readdirSync(folder)
    .filter((name) => name.startsWith('notes-'))
    .flatMap((file) => {
      const lines = readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean)
      const notes = lines.map((line) => line.split(' ') as [word: string, key: string, n: string, at: string])
      const last = Number(notes.at(-1)?.[3] ?? 0)
      const ends = new Map(notes.flatMap(([word, , n, at]) => (word === 'end' ? [[n, Number(at)]] : [])))
      return notes.flatMap(([word, key, n, at]) =>
        word === 'begin' ? [{ key, n: Number(n), began: Number(at), ended: ends.get(n), last }] : [],
      )
    })
}

test('10,000 jobs of one customer do not hold up another one', async () => {
  const t = bench()
  const heard = new Heard<string>()
  const { opened, open } = gate()
  const limit = { concurrency: 2, by: (customer: string) => customer }
  t.hq.job('Export', { limit }, async (_, customer: string) => {
    heard.say(customer)
    if (customer === 'large') await opened
  })
  const args = Array.from({ length: 10_000 }, () => ['large'])
  await t.hq.pushBulk({ class: 'Export', args: [...args, ['small']] })
  await t.work({ concurrency: 10 })
  await until(() => heard.all.includes('small'))
  expect([...heard.all].sort()).toEqual(['large', 'large', 'small'])
  expect((await t.hq.limits.list())[0]).toMatchObject({ name: 'Export', key: 'large', used: 2 })
  open()
  await heard.atLeast(20)
}, 180_000)
