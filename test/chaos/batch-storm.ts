import { setTimeout as sleep } from 'node:timers/promises'
import { type BatchOptions, Highkiq, type Job } from 'highkiq'
import { chance } from '../conformance/chance.js'
import { quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome, untilIdle } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

/** The batches and flows of a seed. */
const MADE = 10

/** The run of a job, noted at its begin, or at the end of its handler if it is a member of a batch (`Work`). */
interface Run {
  jid: string
  /** No two attempts of a job have the same. */
  attempt: string
  pid: number
  /** In microseconds. */
  at: number
  name: string
  /** The batch whose callback it is. */
  bid?: string
  /** The batch whose member it is. */
  of?: string
  /** The children of which a parent finds neither a result nor an error. */
  lost?: number
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
  const all: Run[] = []
  crew.onOutput = (line) => void all.push(JSON.parse(line))
  try {
    await crew.start(url)
    const killing = awaitedLater(crew.killSome(url))
    const fates = await create(hq, random)
    await killing
    while (await hasPending(hq)) await sleep(20)
    await untilIdle(hq)
    await crew.killAll()
    // A process that was slow for a second lost its lease, and its jobs ran elsewhere.
    const slow = new Set(all.flatMap(({ name, pid }) => (name === 'lost' ? [pid] : [])))
    const runs = all.filter(({ name }) => name !== 'lost')
    const timely = runs.filter(({ pid }) => !slow.has(pid))
    const wrong = [...(await faultsOf(hq, fates, runs)), ...earlyCallbacks(fates, timely)]
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
  // With shards a unique job can't be in a batch.
  const Once = hq.job('Once', { unique: !hq.store.shardUrls }, (_ctx, _key: string) => {})
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
  const attempts = new Set<string>()
  for (const { jid, attempt, name, lost = 0 } of runs) {
    if (attempts.has(`${jid} ${attempt}`)) wrong.push(`${name} ${jid} was in the store twice`)
    attempts.add(`${jid} ${attempt}`)
    if (lost > 0) wrong.push(`${name} ${jid} runs, and ${lost} of its children have not ended`)
  }
  for (const [bid, fate] of batches) {
    const batch = await hq.batches.get(bid)
    const { state, pending, cancelling } = batch ?? {}
    const ended = batch && batch.succeeded + batch.failed + batch.dead
    if (ended !== batch?.total) wrong.push(`members are lost: ${JSON.stringify(batch)}`)
    if (state !== fate.state || pending !== 0 || cancelling) wrong.push(`not ${fate.state}: ${JSON.stringify(batch)}`)
    // A callback is one job, however often it runs.
    const callbacks = new Map(runs.flatMap(({ bid: of, jid, name }) => (of === bid ? [[jid, name] as const] : [])))
    const called = [...callbacks.values()].sort()
    if (called.join() !== fate.called.join()) wrong.push(`${bid} is ${state} and called ${called}`)
  }
  const dead = new Set<string>()
  for await (const { jid, class: name, args, errorMessage } of hq.dead) {
    dead.add(jid)
    if (name === 'Work' && args[1] !== 'dies') wrong.push(`${jid} should not die: ${errorMessage}`)
  }
  for (const [jid, fate] of flows) {
    const ran = runs.some((run) => run.jid === jid)
    if (dead.has(jid) !== (fate === 'dead') || ran !== (fate === 'runs')) wrong.push(`root ${jid} should be: ${fate}`)
  }
  return wrong
}

/** Returns the batches of which a callback began before a member had ended. */
function earlyCallbacks({ batches }: Fates, runs: readonly Run[]): string[] {
  return [...batches.keys()].flatMap((bid) => {
    const callbacks = runs.filter((run) => run.bid === bid && run.name !== 'Death')
    const begun = Math.min(...callbacks.map(({ at }) => at))
    const late = runs.filter(({ of, at }) => of === bid && at > begun)
    return late.map(({ jid }) => `a callback of ${bid} began before its member ${jid} had ended`)
  })
}
