import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { chance } from '../conformance/chance.js'

const PROGRAM = fileURLToPath(new URL('unique-worker.js', import.meta.url))
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const PROCESSES = 2
const KILLS = 2

export interface UniqueOutcome {
  /** What was wrong in the moments at which no process ran. */
  wrong: string[]
  /** Locks that were left when all jobs had ended and the locks had been checked. */
  left: number
  /** Jobs that a program removed that knows no locks. */
  removed: number
  ran: number
}

/**
 * Processes push and run unique jobs while they are killed, their clocks are stepped, another program removes jobs, and a
 * check without patience releases locks.
 */
export async function uniqueStorm(url: string, seed: number): Promise<UniqueOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: SILENT })
  const { store } = hq
  const outcome: UniqueOutcome = { wrong: [], left: 0, removed: 0, ran: 0 }
  const report = (thrown: unknown) => void outcome.wrong.push(String(thrown))
  const check = new OrphanedLocks({ store, now: Date.now, report }, { goneMs: 0, walkingPart: 1e9 })
  const crew = new Set<ChildProcess>()
  let isOver = false
  const start = async () => {
    const child = spawn(process.execPath, [PROGRAM, url, String(Math.floor(random() * 2 ** 31))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    crew.add(child)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
  }
  const kill = async (child: ChildProcess) => {
    crew.delete(child)
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const checkAgain = async () => {
    while (!isOver) {
      await check.run()
      await sleep(5)
    }
  }
  const remove = async () => {
    while (!isOver) {
      const [text] = await store.jobs.peek('default', 0, 1)
      const answers = text ? await store.search.pull('default', [{ text, to: null }], Date.now()) : []
      outcome.removed += answers.filter((answer) => answer === 'ok').length
      await sleep(random() * 100)
    }
  }
  try {
    await Promise.all(Array.from({ length: PROCESSES }, start))
    const others = Promise.all([checkAgain(), remove()])
    for (let n = 0; n < KILLS; n++) {
      await sleep(random() * 300)
      const [victim] = crew
      if (victim) await kill(victim)
      await start()
    }
    isOver = true
    await others
    await Promise.all(Array.from(crew, kill))
    outcome.wrong.push(...(await faultsOf(hq)))
    outcome.ran = (await store.metrics.totals()).processed
    await endAll(hq)
    for (let n = 0; n < 3; n++) await check.run()
    outcome.left = (await store.unique.list({ limit: 1000 }, Date.now())).locks.length
    return outcome
  } finally {
    isOver = true
    for (const child of crew) child.kill('SIGKILL')
    await check.stop()
    await hq.close()
  }
}

/** While nothing moves: each job has its lock, so no two jobs have one lock. */
async function faultsOf({ store }: Highkiq): Promise<string[]> {
  const scans = await Promise.all([
    store.search.scanQueue('default', '', { limit: 1000 }),
    store.search.scanSet('schedule', '', { limit: 1000 }),
    store.search.scanSet('retry', '', { limit: 1000 }),
    store.workers.fetched({ limit: 1000 }),
  ])
  const jobs = scans.flatMap(({ items }) => items.map(({ text }) => JSON.parse(text) as Record<string, string>))
  const keys = jobs.map(({ hk_unique: lock = '' }) => lock.slice('success:'.length))
  const locks = await store.unique.find(keys, Date.now())
  return jobs.flatMap(({ jid }, i) => {
    const holder = locks[i]?.holder ?? 'nobody'
    return holder === jid ? [] : [`job ${jid} does not have its lock: ${holder} has it`]
  })
}

async function endAll(hq: Highkiq): Promise<void> {
  hq.job('Unique', () => {})
  // Scheduled jobs may be due long after the end of the test, because of the stepped clocks.
  await hq.scheduled.addAllToQueue()
  await hq.retries.addAllToQueue()
  const worker = hq.worker({ queues: ['default'], leaseSeconds: 1, pollInterval: 0.02 })
  await worker.start()
  for (;;) {
    const { enqueued, fetched } = await hq.store.metrics.totals()
    if (enqueued + fetched === 0) break
    await sleep(20)
  }
  await worker.stop()
}
