/** An ordered queue whose processes are killed, frozen, joined and left, resharded and restarted, and what became of it. */

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { DeadId, Highkiq, OrderedJob } from 'highkiq'
import { Crew } from './crew.ts'
import { now, orderedApp } from './ordered-jobs.js'

const WORKER = fileURLToPath(new URL('ordered-worker.js', import.meta.url))
const CONCURRENCY = 5
/** Longer than two leases. */
const FREEZE_MS = 2500
const PUSHED_AT_ONCE = 40
/** The most milliseconds between two pushes: ids are in flight all the time. */
const PUSH_PAUSE_MS = 60
const WORKED_OFF_MS = 120_000
/** The most settlements of a process that the store may lack: two calls, each with all that was fetched ahead. */
const UNSETTLED = 2 * 50 * CONCURRENCY

export interface OrderedStormOptions {
  url: string
  folder: string
  processes: number
  ids: number
  /** The least number of payloads that the storm pushes. It pushes more until the last fault. */
  pushes: number
  faults: number
  random: () => number
  /** Kills the server and starts it again, where there is one. */
  restart?: () => Promise<void>
}

export interface OrderedOutcome {
  complaints: string[]
  faults: Record<string, number>
  calls: number
}

interface Freeze {
  pid: number
  from: number
  to: number
}

interface Run {
  id: string
  began: number
  /** Until when it surely had the id; what a frozen process still does afterwards is fenced off. */
  until: number
  ended: 'done' | 'failed' | 'killed'
  payloads: { n: number; score: number }[]
}

export async function orderedStorm(options: OrderedStormOptions): Promise<OrderedOutcome> {
  const { url, folder, processes } = options
  const crew = new Crew({ url, folder, processes, concurrency: CONCURRENCY, program: WORKER })
  const { hq, Chaos } = orderedApp(url, folder) as { hq: Highkiq; Chaos: Queue }
  const freezes: Freeze[] = []
  try {
    await crew.start()
    let areFaultsOver = false
    const pushing = push(Chaos, options, () => areFaultsOver)
    pushing.catch(() => {})
    const faults = await injectFaults(crew, Chaos, freezes, options).finally(() => {
      areFaultsOver = true
    })
    const pushes = await pushing
    const complaints = await workedOff(Chaos)
    await crew.stop()
    const runs = readRuns(folder, freezes)
    complaints.push(...overlaps(runs), ...disorder(runs), ...(await lost(Chaos, runs, pushes)))
    const most = UNSETTLED * ((faults.kill ?? 0) + (faults.freeze ?? 0) + 1)
    complaints.push(...(await miscounted(Chaos, runs, most)), ...crew.complaints)
    return { complaints, faults, calls: runs.length }
  } finally {
    crew.kill()
    await hq.close()
  }
}

type Queue = OrderedJob<unknown>

/** Pushes payloads of few ids with random scores, again where the store was away. Returns how many. */
async function push(
  queue: Queue,
  { ids, pushes, random }: OrderedStormOptions,
  areFaultsOver: () => boolean,
): Promise<number> {
  let n = 0
  while (n < pushes || !areFaultsOver()) {
    const jobs = Array.from({ length: PUSHED_AT_ONCE }, () => {
      const score = Math.floor(random() * 1000)
      return { id: Math.floor(random() * ids), payload: { n: n++, score }, score }
    })
    // The same payload pushed twice is one, unless it was processed meanwhile.
    await again(() => queue.performAsync(jobs))
    await sleep(random() * PUSH_PAUSE_MS)
  }
  return n
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries > 200) throw error
      await sleep(50)
    }
  }
}

async function injectFaults(
  crew: Crew,
  queue: Queue,
  freezes: Freeze[],
  { faults, random, restart }: OrderedStormOptions,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const ways: Record<string, () => Promise<unknown>> = {
    kill: () => crew.replace(random),
    leave: () => crew.retire(random),
    freeze: async () => {
      const from = now()
      const pid = await crew.freeze(FREEZE_MS, random)
      if (pid !== undefined) freezes.push({ pid, from, to: now() })
    },
    ...(restart ? { restart } : {}),
  }
  for (let n = 0; n < faults; n++) {
    await sleep(100 + random() * 400)
    // From 5 to 10 and to 3, while everything goes on.
    if (n === Math.floor(faults / 3)) await again(() => queue.reshard(10))
    if (n === Math.floor((2 * faults) / 3)) await again(() => queue.reshard(3))
    const names = Object.keys(ways)
    const way = random() < 0.5 ? 'kill' : (names[Math.floor(random() * names.length)] as string)
    counts[way] = (counts[way] ?? 0) + 1
    await ways[way]?.()
  }
  return counts
}

async function workedOff(queue: Queue): Promise<string[]> {
  const end = performance.now() + WORKED_OFF_MS
  for (;;) {
    const { length, busy, shards } = await again(() => queue.stats())
    if (length === 0 && busy === 0) {
      return shards.length === 3 ? [] : [`it has ${shards.length} shards, not 3`]
    }
    if (performance.now() > end) return [`left over: ${length} wait, ${busy} are in flight: ${JSON.stringify(shards)}`]
    await sleep(50)
  }
}

function readRuns(folder: string, freezes: readonly Freeze[]): Run[] {
  const runs: Run[] = []
  for (const file of readdirSync(folder)) {
    const pid = /^notes-(\d+)\.log$/.exec(file)?.[1]
    if (!pid) continue
    const open = new Map<string, Run>()
    for (const line of readFileSync(`${folder}/${file}`, 'utf8').split('\n')) {
      const [word, call, id = '', at, list = ''] = line.split(' ')
      if (word === 'begin') {
        const payloads = list.split(',').map((one) => {
          const [n, score] = one.split(':').map(Number)
          return { n: n as number, score: score as number }
        })
        const run: Run = { id, began: Number(at), until: Number(at), ended: 'killed', payloads }
        runs.push(run)
        open.set(`${call} ${id}`, run)
      } else if (word === 'done' || word === 'failed') {
        const run = open.get(`${call} ${id}`) as Run
        run.ended = word
        const frozen = freezes.find((one) => one.pid === Number(pid) && one.from <= Number(at) && run.began <= one.to)
        run.until =
          frozen && frozen.to > run.began ? Math.max(run.began, Math.min(Number(at), frozen.from)) : Number(at)
      }
    }
  }
  return runs
}

/** Calls that had one id at the same time. */
function overlaps(runs: readonly Run[]): string[] {
  const complaints: string[] = []
  const last = new Map<string, Run>()
  for (const run of runs.toSorted((a, b) => a.began - b.began)) {
    const before = last.get(run.id)
    if (before && run.began < before.until) {
      complaints.push(`id ${run.id} began at ${run.began} while another call had it until ${before.until}`)
    }
    if (!before || run.until > before.until) last.set(run.id, run)
  }
  return complaints.slice(0, 10)
}

/** Calls whose payloads came in another order than that of their scores, or twice. */
function disorder(runs: readonly Run[]): string[] {
  const wrong = runs.filter(({ payloads }) => {
    const ascending = payloads.every(({ score }, i) => i === 0 || score >= (payloads[i - 1]?.score as number))
    return !ascending || new Set(payloads.map(({ n }) => n)).size < payloads.length
  })
  return wrong.slice(0, 10).map(({ id, payloads }) => `id ${id} got ${JSON.stringify(payloads)}`)
}

/** Payloads that are neither processed nor in the morgue. */
async function lost(queue: Queue, runs: readonly Run[], pushes: number): Promise<string[]> {
  const found = new Set<number>()
  for (const { ended, payloads } of runs) if (ended === 'done') for (const { n } of payloads) found.add(n)
  for (const { payloads } of await morgueOf(queue)) {
    for (const { payload } of payloads) found.add((payload as { n: number }).n)
  }
  const missing: number[] = []
  for (let n = 0; n < pushes; n++) if (!found.has(n)) missing.push(n)
  return missing.length > 0 ? [`${missing.length} payloads are nowhere: ${missing.slice(0, 10).join(', ')}`] : []
}

async function morgueOf(queue: Queue): Promise<DeadId[]> {
  const dead: DeadId[] = []
  let after: string | null = null
  do {
    const page = await queue.morgue.list({ by: 'id', after, limit: 1000 })
    dead.push(...page.items)
    after = page.next
  } while (after !== null)
  return dead
}

/** Only what a process had not settled when it was killed or frozen may run without being counted. */
async function miscounted(queue: Queue, runs: readonly Run[], most: number): Promise<string[]> {
  const { processed, failed, morgueLength } = await queue.stats()
  const complaints: string[] = []
  const check = (name: string, told: number, noted: number) => {
    if (told > noted || told < noted - most) complaints.push(`${told} ${name} are counted, ${noted} noted`)
  }
  check('processed', processed, runs.filter(({ ended }) => ended === 'done').length)
  check('failed', failed, runs.filter(({ ended }) => ended === 'failed').length)
  const dead = (await morgueOf(queue)).length
  if (dead !== morgueLength) complaints.push(`${morgueLength} are said to be in the morgue, which has ${dead}`)
  return complaints
}
