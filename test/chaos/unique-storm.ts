import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Payload } from 'highkiq'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { chance } from '../conformance/chance.js'
import type { SeedCrew } from './shared-crew.ts'
import { FORMS } from './unique-forms.js'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const PROCESSES = 2
const KILLS = 1

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
export async function uniqueStorm(url: string, seed: number, crew: SeedCrew): Promise<UniqueOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: SILENT })
  const { store } = hq
  const outcome: UniqueOutcome = { wrong: [], left: 0, removed: 0, ran: 0 }
  const report = (thrown: unknown) => void outcome.wrong.push(String(thrown))
  // A killed worker may still hold the lock of the maintenance, so the checks of this process have their own.
  const lock = new LeaderLock(() => store, 'checks', { seconds: 60 })
  const check = new OrphanedLocks({ store, now: Date.now, report }, { goneMs: 0, walkingPart: 1e9, lock })
  /** By key: the jids that pushes of a job with a duration answered. */
  const holders = new Map<string, Set<string>>()
  let isOver = false
  crew.heard = (line) => {
    const [key = '', jid = ''] = line.split(' ')
    holders.set(key, (holders.get(key) ?? new Set()).add(jid))
  }
  const start = () => crew.start(url, String(Math.floor(random() * 2 ** 31)))
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
    for (let n = 0; n < PROCESSES; n++) await start()
    const others = Promise.all([checkAgain(), remove()])
    for (let n = 0; n < KILLS; n++) {
      await sleep(random() * 300)
      await crew.kill()
      await start()
    }
    isOver = true
    await others
    await crew.killAll()
    outcome.wrong.push(...(await faultsOf(hq)))
    for (const [key, jids] of holders) if (jids.size > 1) outcome.wrong.push(`${jids.size} jobs had lock ${key} for 2h`)
    outcome.ran = (await store.metrics.totals()).processed
    await endAll(hq)
    // For a minute the last heartbeats of the killed processes show jobs that run no more.
    for (const { identity } of await store.workers.processes()) await store.workers.removeProcess(identity)
    for (let n = 0; n < 3; n++) await check.run()
    const { locks } = await store.unique.list({ limit: 1000 }, Date.now())
    outcome.left = locks.filter(({ outlives }) => !outlives).length
    const kept = new Set(locks.filter(({ outlives }) => outlives).map(({ holder }) => holder))
    for (const [key, [jid]] of holders) if (!kept.has(jid as string)) outcome.wrong.push(`lock ${key} ended before 2h`)
    return outcome
  } finally {
    isOver = true
    await check.stop()
    await hq.close()
  }
}

/**
 * While nothing moves: each job has its lock that has not started, or that keeps its lock when it starts. So no two of them
 * have one lock.
 */
async function faultsOf({ store }: Highkiq): Promise<string[]> {
  const [waiting, started] = await Promise.all([
    Promise.all([
      store.search.scanQueue('default', '', { limit: 1000 }),
      store.search.scanSet('schedule', '', { limit: 1000 }),
    ]),
    Promise.all([store.search.scanSet('retry', '', { limit: 1000 }), store.workers.fetched({ limit: 1000 })]),
  ])
  const jobsOf = (scans: { items: { text: string }[] }[]) =>
    scans.flatMap(({ items }) => items.map(({ text }) => JSON.parse(text) as Payload))
  const jobs = [
    ...jobsOf(waiting).filter((job) => isFresh(job) || keepsLock(job)),
    ...jobsOf(started).filter(keepsLock),
  ]
  const locks = await store.unique.find(
    jobs.map(({ hk_unique: lock = '' }) => lock.replace(/^.*:/, '')),
    Date.now(),
  )
  return jobs.flatMap(({ jid, class: name }, i) => {
    const holder = locks[i]?.holder ?? 'nobody'
    return holder === jid ? [] : [`${name} ${jid} does not have its lock: ${holder} has it`]
  })
}

/** Whether no attempt of a waiting job has ended, also not by a crash. */
function isFresh({ retry_count, hk_crashes }: Payload): boolean {
  return retry_count === undefined && hk_crashes === undefined
}

function keepsLock({ hk_unique: lock = '' }: Payload): boolean {
  return /^(success|time):/.test(lock)
}

async function endAll(hq: Highkiq): Promise<void> {
  for (const name of Object.keys(FORMS)) hq.job(name, () => {})
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
