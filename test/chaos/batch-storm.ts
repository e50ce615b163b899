import { setTimeout as sleep } from 'node:timers/promises'
import { type BatchOptions, Highkiq, type Job } from 'highkiq'
import { chance } from '../conformance/chance.js'
import { quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome, untilIdle } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

/** The batches and flows of a seed. */
const MADE = 10

interface Run {
  jid: string
  crashes: number
  name: string
  bid?: string
}

/** How batches end, and the callbacks that they push. */
const SUCCEEDED = { state: 'succeeded', called: ['Complete', 'Success'] }
const DEAD = { state: 'dead', called: ['Complete', 'Death'] }
const CANCELLED = { state: 'failed', called: ['Complete'] }
/** A batch inside one that was cancelled. */
const CANCELLED_INNER = { state: 'failed', called: [] }

/** What must become of batches by bid, and of the roots of flows by jid. */
interface Fates {
  batches: Map<string, typeof SUCCEEDED>
  flows: Map<string, 'runs' | 'dead'>
}

/** Creates batches and flows while the workers, which also cancel some of the batches, are killed. */
export async function batchStorm(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: quiet })
  const runs: Run[] = []
  crew.heard = (line) => void runs.push(JSON.parse(line))
  try {
    await crew.start(url)
    const killing = awaitedLater(crew.killSome(url))
    const fates = await create(hq, random)
    await killing
    while (await hasPending(hq)) await sleep(20)
    await untilIdle(hq)
    await crew.killAll()
    const wrong = await faultsOf(hq, fates, runs)
    const count = (all: Map<string, unknown>, fate: unknown) => [...all.values()].filter((one) => one === fate).length
    const happened = {
      succeeded: count(fates.batches, SUCCEEDED),
      dead: count(fates.batches, DEAD),
      cancelled: count(fates.batches, CANCELLED),
      'flow runs': count(fates.flows, 'runs'),
      'flow dead': count(fates.flows, 'dead'),
    }
    return { wrong, happened }
  } finally {
    await hq.close()
  }
}

async function create(hq: Highkiq, random: () => number): Promise<Fates> {
  const { Work, Once, Join, callbacks } = define(hq)
  const fates: Fates = { batches: new Map(), flows: new Map() }
  const withJobs = async (n: number, hows: string[]) => {
    const bid = await hq.batch(callbacks, async () => {
      for (const [i, how] of hows.entries()) await Work.performAsync(`${n}.${i}`, how)
      // Jobs of several batches need one of three locks.
      await Once.performBulk([[`${Math.floor(random() * 3)}`], [`${Math.floor(random() * 3)}`]])
      const inner = await hq.batch(callbacks, () => Work.performAsync(`${n} inner`, 'ok'))
      fates.batches.set(inner, SUCCEEDED)
    })
    fates.batches.set(bid, hows.includes('dies') ? DEAD : SUCCEEDED)
  }
  const toBeCancelled = async (n: number) => {
    const bid = await hq.batch({ ...callbacks, description: 'to be cancelled' }, async () => {
      for (let i = 0; i < 20; i++) {
        // Most jobs still wait when their batch is cancelled: in the queue, in the schedule, or for a retry.
        if (random() < 0.5) await Work.performIn(1e6, `${n}.${i}`, 'ok')
        else await Work.performAsync(`${n}.${i}`, random() < 0.3 ? 'retries' : 'ok')
      }
      const inner = await hq.batch(callbacks, () => Work.performIn(1e6, `${n} inner`, 'ok'))
      fates.batches.set(inner, CANCELLED_INNER)
      const children = [{ job: Work as Job<string[]>, args: [`${n} child`, 'ok'] }]
      await hq.flow({ job: Join, args: ['root'], onChildFailure: 'ignore', children })
    })
    fates.batches.set(bid, CANCELLED)
  }
  const flow = async (n: number, hows: string[]) => {
    const children = hows.map((how, i) => ({ job: Work, args: [`${n}.${i}`, how === 'grows' ? 'ok' : how] }))
    const onChildFailure = random() < 0.5 ? ('ignore' as const) : ('fail' as const)
    const nested = { job: Join, args: ['nested'], onChildFailure, children }
    const root = { job: Join, args: ['root'], onChildFailure, children: [nested, ...children.slice(0, 1)] }
    const pushed = await hq.flow(root)
    fates.flows.set(pushed?.jid as string, hows.includes('dies') && onChildFailure === 'fail' ? 'dead' : 'runs')
  }
  for (let n = 0; n < MADE; n++) {
    const hows = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
      const dice = random()
      return dice < 0.1 ? 'dies' : dice < 0.3 ? 'retries' : dice < 0.4 ? 'grows' : 'ok'
    })
    const dice = random()
    await (dice < 0.4 ? withJobs(n, hows) : dice < 0.8 ? flow(n, hows) : toBeCancelled(n))
    await sleep(random() * 300)
  }
  return fates
}

function define(hq: Highkiq) {
  const job = (name: string, retry: number | true) => hq.job(name, { retry }, (_ctx, ..._args: string[]) => {})
  const [onSuccess, onComplete, onDeath] = ['Success', 'Complete', 'Death'].map((name) => job(name, true))
  const callbacks = { onSuccess, onComplete, onDeath } as unknown as BatchOptions
  const Once = hq.job('Once', { unique: true }, (_ctx, _key: string) => {})
  return { Work: job('Work', 1), Once, Join: job('Join', true), callbacks }
}

async function hasPending(hq: Highkiq): Promise<boolean> {
  for await (const { pending } of hq.batches.list()) if (pending > 0) return true
  return false
}

async function faultsOf(hq: Highkiq, { batches, flows }: Fates, runs: readonly Run[]): Promise<string[]> {
  const wrong: string[] = []
  const { locks } = await hq.store.unique.list({ limit: 9 }, Date.now())
  if (locks.length > 0) wrong.push(`locks are left: ${JSON.stringify(locks)}`)
  const firstRuns = new Set<string>()
  for (const { jid, crashes, name } of runs) {
    if (crashes > 0) continue
    if (firstRuns.has(jid)) wrong.push(`${name} ${jid} was pushed twice`)
    firstRuns.add(jid)
  }
  for (const [bid, fate] of batches) {
    const batch = await hq.batches.get(bid)
    const { state, pending, cancelling } = batch ?? {}
    if (state !== fate.state || pending !== 0 || cancelling) wrong.push(`not ${fate.state}: ${JSON.stringify(batch)}`)
    // A callback is one job, however often it runs.
    const callbacks = new Map(runs.flatMap(({ bid: of, jid, name }) => (of === bid ? [[jid, name] as const] : [])))
    const called = [...callbacks.values()].sort()
    if (called.join() !== fate.called.join()) wrong.push(`${bid} is ${state} and called ${called}`)
  }
  const dead = new Set<string>()
  for await (const { jid } of hq.dead) dead.add(jid)
  for (const [jid, fate] of flows) {
    const ran = runs.some((run) => run.jid === jid)
    if (dead.has(jid) !== (fate === 'dead') || ran !== (fate === 'runs')) wrong.push(`root ${jid} should be: ${fate}`)
  }
  return wrong
}
