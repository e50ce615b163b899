// The app of `npm run chaos`. Its jobs write to the journal of their process when they begin and end, before the store knows it.
import { openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { endAs } from '../jobs.js'
import { LIMIT } from './workloads.js'

/**
 * Every second process may run another version of the package.
 * @type {typeof import('highkiq')}
 */
const { Highkiq } = await import(process.env.HIGHKIQ_CHAOS_PACKAGE ?? 'highkiq')

/** In a soak old data is deleted so soon that the store is in a steady state after a few minutes. */
const SOAK = {
  dead: { max: 200 },
  events: { keep: 1000 },
  defaultJobOptions: { keepFinished: { for: 60, max: 1000 }, keepResult: 60 },
}
/** The harness must read a task before it is deleted. */
const KEEPS = { task: { keep: 120 }, batch: { keep: 60 } }
const HEAP_MS = 5000

export const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** Microseconds on a clock that all processes of this machine share, and that nobody can set. */
export const now = () => Number(process.hrtime.bigint() / 1000n)

/** Returns a function that appends a line to the file of this process. What it has written survives a SIGKILL. */
export function openJournal(folder, role) {
  // The system may give a pid twice.
  const file = openSync(`${folder}/journal-${role}-${process.pid}-${now()}.log`, 'a')
  return (...words) => void writeSync(file, `${words.join(' ')}\n`)
}

/** Sets the clock of this process at each SIGUSR2, as a file says, and removes the file. */
export function clockOf(folder) {
  let ahead = 0
  process.on('SIGUSR2', () => {
    const file = `${folder}/clock-${process.pid}`
    ahead = Number(readFileSync(file, 'utf8'))
    rmSync(file)
  })
  return { now: () => Date.now() + ahead }
}

/** Writes now and then how many bytes of the heap are in use after a collection. */
export function watchHeap(write) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const measure = () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    write('heap', heapUsed + external)
  }
  measure()
  setInterval(measure, HEAP_MS).unref()
}

export function harnessApp(url, write, { clock, logger = silent, isSoak = false } = {}) {
  // No jitter: a retry comes as soon as it can.
  const settings = { random: () => 0, logger, ...(clock ? { clock } : {}), ...(isSoak ? SOAK : {}) }
  const hq = new Highkiq({ url, ...settings })
  let calls = 0
  const handler = async (ctx, n, kind) => {
    write('began', n, now())
    await pause(n)
    write('ended', n, now())
    endAs(kind, n, ctx.payload)
    return { n }
  }
  const grouped = async (_ctx, group, n) => {
    const call = ++calls
    write('call', call, group, now(), n)
    await pause(n)
    write('called', call, group, now())
  }
  // No end to crashes: a fault may meet the same job again and again.
  const options = { retry: 1, retryIn: () => 0.05, maxCrashes: 1_000_000 }
  const callback = (name) => hq.job(name, options, (ctx, bid) => write('callback', name, bid, ctx.jid))
  /** Every third call fails with its first id, which is then merged with the versions that came meanwhile. */
  const ordered = (name, serial) => {
    const options = { serial, shards: 3, batchSize: 5, retryIn: () => 0.05, maxCrashes: 1_000_000 }
    return hq.ordered(name, options, async (ctx, batch) => {
      const call = ++calls
      const failing = call % 3 === 0 ? batch.keys().next().value : undefined
      for (const [id, payloads] of batch)
        write('call', call, `ordered:${id}`, now(), payloads.map(({ n }) => n).join(','))
      // Long enough that versions come meanwhile, and that a fault meets some ids in flight.
      await sleep(call % 10 === 0 ? 50 : failing === undefined ? 5 : 20)
      for (const id of batch.keys()) write(id === failing ? 'failed' : 'called', call, `ordered:${id}`, now())
      if (failing !== undefined) ctx.fail(failing, new Error('every third call fails'))
    })
  }
  return {
    hq,
    keeps: isSoak ? KEEPS : { task: {}, batch: {} },
    Plain: hq.job('Plain', options, handler),
    Row: hq.job('Row', options, handler),
    Unique: hq.job('Unique', { ...options, unique: { by: (group) => group } }, grouped),
    Limited: hq.job('Limited', { ...options, limit: { concurrency: LIMIT, by: (group) => group } }, grouped),
    Member: hq.job('Member', options, grouped),
    callbacks: { onSuccess: callback('Success'), onComplete: callback('Complete'), onDeath: callback('Death') },
    Tick: hq.job('Tick', options, (ctx, tick) => write('tick', tick, ctx.jid)),
    // With `serial: 'shard'` a worker itself never runs an id twice at a time: here only the store prevents it.
    orderedQueues: [ordered('Ordered', 'shard'), ordered('OrderedById', 'id')],
  }
}

/** Returns the number of a job by its text; undefined for callbacks and jobs of cron entries, which have none. */
export function numberOf(text) {
  const { class: name, args } = JSON.parse(text)
  if (name === 'Plain' || name === 'Row') return args[0]
  return name === 'Unique' || name === 'Limited' || name === 'Member' ? args[1] : undefined
}

/** Some jobs take long enough that a fault mostly meets jobs in flight, also in a short run. */
function pause(n) {
  const ms = n % 20 === 0 ? 200 : n % 5 === 0 ? 40 : 0
  return ms > 0 ? sleep(ms) : undefined
}
