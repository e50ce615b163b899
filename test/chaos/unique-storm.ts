import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Payload } from 'highkiq'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { chance } from '../conformance/chance.js'
import { isBusy, quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'
import { FORMS } from './unique-forms.js'

/**
 * Processes push and run unique jobs while they are killed, their clocks are stepped, another program removes jobs, and a
 * check without patience releases locks.
 */
export async function uniqueStorm(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: quiet })
  const { store } = hq
  const wrong: string[] = []
  /** The jobs that another program, which knows no locks, removed. */
  const removed = new Set<string>()
  const report = (thrown: unknown) => {
    if (!isBusy(thrown)) wrong.push(String(thrown))
  }
  // A killed worker may still hold the lock of the maintenance, so the checks of this process have their own.
  const lock = new LeaderLock(() => store, 'checks', { seconds: 60 })
  const check = new OrphanedLocks({ store, now: Date.now, report }, { goneMs: 0, walkingPart: 1e9, lock })
  /** By key: the jids that pushes of a job with a duration answered. */
  const holders = new Map<string, Set<string>>()
  let isOver = false
  /** By process: the jobs that ran without their locks. */
  const unlocked: { pid: string; job: string }[] = []
  /** Processes that were slow for a second, and so lost their leases: their jobs ran elsewhere. */
  const slow = new Set<string>()
  crew.onOutput = (line) => {
    const [what, about = '', ...words] = line.split(' ')
    const jid = words.at(-1) as string
    if (what === 'pushed') holders.set(about, (holders.get(about) ?? new Set()).add(jid))
    else if (what === 'lost') slow.add(about)
    else unlocked.push({ pid: about, job: words.join(' ') })
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
      const [answer] = text ? await store.search.pull('default', [{ text, to: null }], Date.now()) : []
      if (text && answer === 'ok') removed.add((JSON.parse(text) as Payload).jid)
      await sleep(random() * 100)
    }
  }
  try {
    await crew.start(url)
    const others = awaitedLater(Promise.all([checkAgain(), remove()]))
    await crew.killSome(url)
    isOver = true
    await others
    await crew.killAll()
    wrong.push(...(await faultsOf(hq)))
    for (const { pid, job } of unlocked) if (!slow.has(pid)) wrong.push(`${job} ran without its lock`)
    for (const [key, jids] of holders) if (jids.size > 1) wrong.push(`${jids.size} jobs had lock ${key} for 2h`)
    const ran = (await store.metrics.totals()).processed
    await endAll(hq)
    const unreleased = (await locksOfEnded(hq)).filter(({ holder }) => !removed.has(holder))
    if (unreleased.length > 0) wrong.push(`jobs ended without their locks: ${JSON.stringify(unreleased)}`)
    // For a minute the last heartbeats of the killed processes show jobs that run no more.
    for (const { identity } of await store.workers.processes()) await store.workers.removeProcess(identity)
    for (let n = 0; n < 3; n++) await check.run()
    const left = await locksOfEnded(hq)
    if (left.length > 0) wrong.push(`locks are left of removed jobs: ${JSON.stringify(left)}`)
    const { locks } = await store.unique.list({ limit: 1000 }, Date.now())
    const kept = new Set(locks.filter(({ outlives }) => outlives).map(({ holder }) => holder))
    for (const [key, [jid]] of holders) if (!kept.has(jid as string)) wrong.push(`lock ${key} ended before 2h`)
    return { wrong, happened: { removed: removed.size, ran } }
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

/** When all jobs have ended: the locks that should have ended with them. */
async function locksOfEnded({ store }: Highkiq) {
  const { locks } = await store.unique.list({ limit: 1000 }, Date.now())
  return locks.filter(({ outlives }) => !outlives)
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
