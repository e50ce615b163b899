import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type BatchOptions, Highkiq, type Job } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { recorder } from '../engine/bench.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'

/** The nightly run: HIGHKIQ_BATCH_SEEDS=1000 */
const seeds = Number(process.env.HIGHKIQ_BATCH_SEEDS ?? 20)
const SEEDS_AT_ONCE = 10
const PROCESSES = 4
const KILLS = 6

interface Run {
  jid: string
  crashes: number
  name: string
  bid?: string
  children?: string[]
}

/** Starts a process. Resolves when it works. */
async function startWorker(url: string, file: string, name = 'batch-worker.js'): Promise<ChildProcess> {
  const program = fileURLToPath(new URL(name, import.meta.url))
  const child = spawn(process.execPath, [program, url, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

const groups = Array.from({ length: Math.ceil(seeds / SEEDS_AT_ONCE) }, (_, n) => n * SEEDS_AT_ONCE + 1)
const CANCELLING =
  'seeds from %i on: while workers and callers are killed, every cancelled batch ends, with each callback once'
const TITLE =
  'seeds from %i on: while workers are killed and clocks are set, no batch or flow is stuck, and each callback is pushed once'
const LIMITS = { timeout: 120_000 }

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-batches-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('batches on SQLite', () => {
  test.each(groups)(TITLE, LIMITS, (first) => check(`sqlite:${newFolder()}/jobs.db`, first))
  test.each(groups)(CANCELLING, LIMITS, (first) => checkCancelling(`sqlite:${newFolder()}/jobs.db`, first))
})

onRedis('batches on Redis', () => {
  test.each(groups)(TITLE, LIMITS, async (first) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    await check(server.url(), first)
  })
  test.each(groups)(CANCELLING, LIMITS, async (first) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    await checkCancelling(server.url(), first)
  })
})

/** Runs some seeds on an empty store. */
async function check(url: string, first: number): Promise<void> {
  const random = chance(first)
  const file = join(newFolder(), 'runs')
  writeFileSync(file, '')
  const hq = new Highkiq({ url, logger: recorder() })
  onTestFinished(() => hq.close())
  const { Work, Once, Join, callbacks } = define(hq)
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => startWorker(url, file)))

  // Each batch with whether a job of it dies; each flow with what becomes of its root.
  const batches = new Map<string, boolean>()
  const flows = new Map<string, 'runs' | 'dead'>()
  const create = async (random: () => number) => {
    for (let n = 0; n < 8; n++) {
      const hows = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
        const dice = random()
        return dice < 0.1 ? 'dies' : dice < 0.3 ? 'retries' : dice < 0.4 ? 'grows' : 'ok'
      })
      const dies = hows.includes('dies')
      if (random() < 0.5) {
        const bid = await hq.batch(callbacks, async () => {
          for (const [i, how] of hows.entries()) await Work.performAsync(`${n}.${i}`, how)
          // Jobs of several batches need one of three locks.
          await Once.performBulk([[`${Math.floor(random() * 3)}`], [`${Math.floor(random() * 3)}`]])
          const inner = await hq.batch(callbacks, () => Work.performAsync(`${n} inner`, 'ok'))
          batches.set(inner, false)
        })
        batches.set(bid, dies)
      } else {
        const children = hows.map((how, i) => ({ job: Work, args: [`${n}.${i}`, how === 'grows' ? 'ok' : how] }))
        const onChildFailure = random() < 0.5 ? ('ignore' as const) : ('fail' as const)
        const nested = { job: Join, args: ['nested'], onChildFailure, children }
        const flow = await hq.flow({
          job: Join,
          args: ['root'],
          onChildFailure,
          children: [nested, ...children.slice(0, 1)],
        })
        flows.set(flow?.jid as string, dies && onChildFailure === 'fail' ? 'dead' : 'runs')
      }
      await sleep(random() * 20)
    }
  }
  const kill = () => killSome(workers, random, () => startWorker(url, file))
  const some = Math.min(seeds - first + 1, SEEDS_AT_ONCE)
  await Promise.all([kill(), ...Array.from({ length: some }, (_, n) => create(chance(first + n)))])

  const deadJids = async () => {
    const jids = new Set<string>()
    for await (const entry of hq.dead) jids.add(entry.jid)
    return jids
  }
  await isOver(hq)
  expect(await hq.store.unique.list({ limit: 9 }, Date.now())).toMatchObject({ locks: [] })
  const all = runsOf(file)
  expectOnce(all)
  const calledBack = (name: string, bid: string) => all.some((run) => run.name === name && run.bid === bid)
  for (const [bid, dies] of batches) {
    const said = ['Success', 'Complete', 'Death'].filter((name) => calledBack(name, bid))
    expect(said, bid).toEqual(dies ? ['Complete', 'Death'] : ['Success', 'Complete'])
    expect(await hq.batches.get(bid)).toMatchObject({ state: dies ? 'dead' : 'succeeded', pending: 0 })
  }
  const dead = await deadJids()
  for (const [jid, fate] of flows) {
    expect([dead.has(jid), all.some((run) => run.jid === jid)], jid).toEqual([fate === 'dead', fate === 'runs'])
  }
}

function define(hq: Highkiq) {
  const job = (name: string, retry: number | true) => hq.job(name, { retry }, (_ctx, ..._args: string[]) => {})
  const [onSuccess, onComplete, onDeath] = ['Success', 'Complete', 'Death'].map((name) => job(name, true))
  const callbacks = { onSuccess, onComplete, onDeath } as unknown as BatchOptions
  const Once = hq.job('Once', { unique: true }, (_ctx, _key: string) => {})
  return { Work: job('Work', 1), Once, Join: job('Join', true), callbacks }
}

/** Kills processes at random, and starts others. */
async function killSome(processes: ChildProcess[], random: () => number, start: () => Promise<ChildProcess>) {
  for (let n = 0; n < KILLS; n++) {
    await sleep(random() * 300)
    const at = Math.floor(random() * processes.length)
    processes[at]?.kill('SIGKILL')
    processes[at] = await start()
  }
}

/** Waits until all batches have ended, and no job waits or runs. */
async function isOver(hq: Highkiq): Promise<void> {
  const ended = async () => {
    for await (const batch of hq.batches.list()) if (batch.pending > 0) return false
    const { enqueued, fetched, scheduled, retries } = await hq.store.metrics.totals()
    return enqueued + fetched + scheduled + retries === 0
  }
  while (!(await ended())) await sleep(50)
}

function runsOf(file: string): Run[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Run)
}

/** Expects that no job was pushed twice. */
function expectOnce(runs: readonly Run[]): void {
  const firstRuns = new Map<string, number>()
  for (const { jid, crashes } of runs) if (crashes === 0) firstRuns.set(jid, (firstRuns.get(jid) ?? 0) + 1)
  expect([...firstRuns].filter(([, n]) => n > 1)).toEqual([])
}

/** Cancels batches of some seeds from processes that are killed, as their workers are. */
async function checkCancelling(url: string, first: number): Promise<void> {
  const random = chance(first)
  const folder = newFolder()
  const [file, list] = [join(folder, 'runs'), join(folder, 'bids')]
  for (const empty of [file, list]) writeFileSync(empty, '')
  const hq = new Highkiq({ url, logger: recorder() })
  onTestFinished(() => hq.close())
  const { Work, Join, callbacks } = define(hq)
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => startWorker(url, file)))
  const callers = await Promise.all(Array.from({ length: 2 }, () => startWorker(url, list, 'batch-canceller.js')))
  const batches = new Map<string, string>()
  const create = async (random: () => number) => {
    for (let n = 0; n < 4; n++) {
      let inner = ''
      const bid = await hq.batch(callbacks, async () => {
        for (let i = 0; i < 20; i++) {
          // Most jobs still wait when their batch is cancelled: in the queue, in the schedule, or for a retry.
          if (random() < 0.5) await Work.performIn(1e6, `${n}.${i}`, 'ok')
          else await Work.performAsync(`${n}.${i}`, random() < 0.3 ? 'retries' : 'ok')
        }
        inner = await hq.batch(callbacks, () => Work.performIn(1e6, `${n} inner`, 'ok'))
        const children = [{ job: Work as Job<string[]>, args: [`${n} child`, 'ok'] }]
        await hq.flow({ job: Join, args: ['root'], onChildFailure: 'ignore', children })
      })
      batches.set(bid, inner)
      appendFileSync(list, `${bid}\n`)
      await sleep(random() * 50)
    }
  }
  const some = Math.min(seeds - first + 1, SEEDS_AT_ONCE)
  await Promise.all([
    killSome(workers, random, () => startWorker(url, file)),
    killSome(callers, random, () => startWorker(url, list, 'batch-canceller.js')),
    ...Array.from({ length: some }, (_, n) => create(chance(first + n))),
  ])
  await isOver(hq)
  const all = runsOf(file)
  expectOnce(all)
  for (const [bid, inner] of batches) {
    const said = new Set(all.flatMap((run) => (run.bid === bid ? [run.name] : [])))
    expect([...said], bid).toEqual(['Complete'])
    expect(await hq.batches.get(bid), bid).toMatchObject({ state: 'failed', pending: 0, cancelling: false })
    expect(await hq.batches.get(inner), inner).toMatchObject({ state: 'failed', pending: 0, cancelling: false })
  }
}
