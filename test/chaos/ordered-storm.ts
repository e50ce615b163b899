/** An ordered queue whose processes are killed, frozen, joined and left, resharded and restarted, and what became of it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { DeadId, Highkiq, OrderedJob } from 'highkiq'
import { Crew } from './crew.ts'
import type { StormTarget } from './on-each-store.ts'
import { now, orderedApp } from './ordered-jobs.js'
import { disorder, type Freeze, overlaps, type Run, readRuns } from './runs.ts'

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

export interface OrderedStormOptions extends StormTarget {
  processes: number
  ids: number
  /** The least number of payloads that the storm pushes. It pushes more until the last fault. */
  pushes: number
  faults: number
  random: () => number
}

export interface OrderedOutcome {
  complaints: string[]
  faults: Record<string, number>
  calls: number
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
    complaints.push(...overlaps(runs), ...disorder(runs), ...lost(await endsOf([Chaos], runs, pushes)))
    const most = UNSETTLED * ((faults.kill ?? 0) + (faults.freeze ?? 0) + 1)
    complaints.push(...(await miscounted(Chaos, runs, most)), ...crew.complaints)
    return { complaints, faults, calls: runs.length }
  } finally {
    crew.kill()
    await hq.close()
  }
}

export type Queue = OrderedJob<unknown>

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
  { faults, random, breakServer }: OrderedStormOptions,
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
    ...(breakServer ? { server: () => breakServer(random) } : {}),
  }
  for (let n = 0; n < faults; n++) {
    await sleep(100 + random() * 400)
    // From 5 to 10 and to 3, while everything goes on.
    if (n === Math.floor(faults / 3)) await again(() => queue.reshard(10))
    if (n === Math.floor((2 * faults) / 3)) await again(() => queue.reshard(3))
    const names = Object.keys(ways)
    const some = random() < 0.5 ? 'kill' : (names[Math.floor(random() * names.length)] as string)
    const way = n === 0 && breakServer ? 'server' : some
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

/** Returns how often each payload was processed, or is in the morgue of a queue. */
export async function endsOf(queues: readonly Queue[], runs: readonly Run[], pushes: number): Promise<number[]> {
  const ends = Array.from({ length: pushes }, () => 0)
  const ended = runs.filter((run) => run.ended === 'done').flatMap(({ payloads }) => payloads.map(({ n }) => n))
  for (const queue of queues) {
    for (const { payloads } of await morgueOf(queue)) {
      ended.push(...payloads.map(({ payload }) => (payload as { n: number }).n))
    }
  }
  for (const n of ended) ends[n] = (ends[n] as number) + 1
  return ends
}

/** Says which payloads are neither processed nor in a morgue. */
export function lost(ends: readonly number[]): string[] {
  const missing = [...ends.keys()].filter((n) => ends[n] === 0)
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
