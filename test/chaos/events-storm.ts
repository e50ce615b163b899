import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type JobEvent } from 'highkiq'
import { chance } from '../conformance/chance.js'
import { until } from '../engine/bench.ts'
import { quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome, untilIdle } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

/** The jobs of a seed, at least: they are pushed until no process is killed any more. */
const JOBS = 40

/** By jid, and by the retries before an attempt: the crashes in a row before its latest start. */
type Crashes = Map<string, Map<string, number>>

/**
 * Pushes jobs while workers are killed and readers end without having stored where they were. Returns what is wrong: each
 * push, failure, retry, rescue and success must have its event, and each settled attempt and each crash exactly one.
 */
export async function eventsStorm(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: quiet })
  const ending = new AbortController()
  const crashes: Crashes = new Map()
  crew.onOutput = (line) => {
    const [jid = '', retries = '', n = ''] = line.split(' ')
    const own = crashes.get(jid) ?? new Map<string, number>()
    // A process that lost its lease may start a job later than the one that rescued it.
    crashes.set(jid, own.set(retries, Math.max(own.get(retries) ?? 0, Number(n))))
  }
  try {
    await hq.store.events.record(null, hq.now())
    await hq.store.events.confirm(hq.now())
    const first = await hq.events().position()
    const seen = new Map<string, JobEvent>()
    const reading = awaitedLater(read(hq, first, seen, random, ending.signal))
    await crew.start(url)
    const jids: (string | null)[] = []
    let isKilling = true
    const push = async () => {
      for (let n = 0; n < JOBS || isKilling; n++) {
        jids.push(await hq.push({ class: 'J', args: [n] }))
        if (random() < 0.5) await sleep(random() * 200)
      }
    }
    const pushing = awaitedLater(push())
    await crew.killSome(url)
    isKilling = false
    await pushing
    await untilIdle(hq)
    await readToTheEnd(hq, seen, jids)
    ending.abort()
    await reading
    await crew.killAll()
    const events = [...seen.values()]
    // Failures, and jobs of killed workers.
    const retried = (why: (reason: unknown) => boolean) =>
      events.filter(({ kind, reason }) => kind === 'retried' && why(reason)).length
    const happened = { failed: retried((why) => why === 'failed'), rescued: retried((why) => why !== 'failed') }
    const wrong = complaintsOf(events, jids, await hq.store.metrics.totals())
    return { wrong: [...wrong, ...rescueFaults(events, crashes)], happened }
  } finally {
    ending.abort()
    await hq.close()
  }
}

/** Resolves when the events of each shard are read, up to those of a job that was pushed last: adds this job to `jids`. */
async function readToTheEnd(hq: Highkiq, seen: ReadonlyMap<string, JobEvent>, jids: (string | null)[]): Promise<void> {
  const isOver = ({ job, kind }: JobEvent) => job === 'Last' && kind === 'succeeded'
  const shards = hq.store.shardUrls?.length ?? 1
  do {
    const jid = await hq.push({ class: 'Last', args: [] })
    jids.push(jid)
    await until(() => [...seen.values()].some((event) => event.jid === jid && isOver(event)))
  } while (new Set([...seen.values()].filter(isOver).map(shardOf)).size < shards)
}

/** Reads events, as readers do that end at any moment and begin again behind the event that they have stored last. */
async function read(
  hq: Highkiq,
  first: string,
  seen: Map<string, JobEvent>,
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  for (let stored = first; !signal.aborted; ) {
    const events: JobEvent[] = []
    const loop = hq.events({ after: stored, signal })
    for await (const event of loop) {
      events.push(event)
      if (random() < 0.1) {
        for (const one of events.splice(0)) seen.set(one.id, one)
        stored = await loop.position()
      }
      // What the reader had not stored yet, it reads again.
      if (random() < 0.05) break
      if (event.job === 'Last') for (const one of events) seen.set(one.id, one)
    }
  }
}

function complaintsOf(
  events: JobEvent[],
  jids: readonly (string | null)[],
  totals: { processed: number; failed: number },
): string[] {
  const complaints: string[] = []
  // The start and the end of a job may be one event of the store.
  for (const shard of new Set(events.map(shardOf))) {
    const own = events.filter((event) => shardOf(event) === shard)
    const numbers = [...new Set(own.map(numberOf))].sort((a, b) => a - b)
    const [first = 0] = numbers
    if (numbers.some((number, i) => number !== first + i)) complaints.push('ids are missing')
  }
  const count = (kind: string) => events.filter((event) => event.kind === kind).length
  const expected = { succeeded: totals.processed - totals.failed, failed: totals.failed, pushed: jids.length }
  for (const [kind, n] of Object.entries(expected)) {
    if (count(kind) !== n) complaints.push(`${count(kind)} events ${kind}, and should be ${n}`)
  }
  const failures = events.filter(({ kind, reason }) => kind === 'retried' && reason === 'failed').length
  if (failures !== totals.failed) complaints.push(`${failures} retried after ${totals.failed} failures`)
  for (const jid of jids) {
    const own = events.filter((event) => event.jid === jid).sort((a, b) => orderOf(a) - orderOf(b))
    const kinds = own.map(({ kind }) => kind)
    const isWhole = kinds[0] === 'pushed' && kinds.at(-1) === 'succeeded' && kinds.at(-2) !== 'pushed'
    if (!isWhole || kinds.filter((kind) => kind === 'succeeded').length !== 1) complaints.push(`${jid}: ${kinds}`)
  }
  return complaints
}

/** The attempt that ends a row of crashes knows how many there were: each must have its event, and only one. */
function rescueFaults(events: readonly JobEvent[], crashes: Crashes): string[] {
  return [...crashes].flatMap(([jid, own]) => {
    const expected = [...own.values()].reduce((sum, n) => sum + n, 0)
    const recorded = events.filter(
      (event) => event.jid === jid && event.kind === 'retried' && event.reason === 'crashed',
    ).length
    return recorded === expected ? [] : [`${jid} has ${recorded} events of ${expected} rescues`]
  })
}

/** Returns the shard of an event; '' where the store has none. */
function shardOf({ id }: JobEvent): string {
  return id.slice(0, id.indexOf(':') + 1)
}

function numberOf({ id }: JobEvent): number {
  return Number.parseInt(id.slice(id.indexOf(':') + 1), 10)
}

/** Half a number before the other event of the same number. */
function orderOf(event: JobEvent): number {
  // Numbers of 16 digits have no room for a fraction.
  return (numberOf(event) % 1e9) - (event.id.includes('.') ? 0.5 : 0)
}
