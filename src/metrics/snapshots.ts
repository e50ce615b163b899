/** The figures of the whole store over time: one worker stores them every minute, so that pages can show how they changed. */

import type { AppPort } from '../app/port.ts'
import { type Stats, statsOf } from '../inspect/stats.ts'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import { statsOf as orderedStatsOf } from '../ordered/queue.ts'
import type { SnapshotSpan, Store } from '../store/contract.ts'
import type { LeaderLock } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import { Maintenance } from '../worker/maintenance.ts'

const MINUTE = 60_000
/** How often a worker looks whether the next minute has begun. */
const EVERY_MS = 10_000
/** The ordered queues that a snapshot has at most. */
const MOST_ORDERED = 100

/** The figures of an ordered queue; `processed` and `failed` count since it was defined. */
export interface OrderedSnapshot {
  length: number
  busy: number
  /** Seconds. */
  lag: number
  morgueLength: number
  processed: number
  failed: number
}

/** The figures of the app as `hq.stats()` returned them at one time, and those of its first 100 ordered queues. */
export interface StatsSnapshot extends Stats {
  /** The start of the minute, of the ten minutes or of the day. */
  at: Date
  /** When the figures were read, in that time. */
  takenAt: Date
  ordered: Record<string, OrderedSnapshot>
}

/** A snapshot as JSON. */
type Stored = Omit<StatsSnapshot, 'at' | 'takenAt'> & { takenAt: number }

export class SnapshotRecorder extends Maintenance {
  readonly #app: Pick<Engine, 'store' | 'now'>
  /** The last minute that this process stored. */
  #stored = 0

  constructor(app: Pick<Engine, 'store' | 'now' | 'report'>, options: { lock?: LeaderLock } = {}) {
    super(app, { during: 'storing the figures of a minute', everyMs: EVERY_MS, first: 'later', ...options })
    this.#app = app
  }

  public override async run(): Promise<void> {
    const { store, now } = this.#app
    const at = now()
    const minute = at - (at % MINUTE)
    if (minute === this.#stored || !(await this.isLeader())) return
    await store.metrics.recordSnapshot(at, stringifyJson(await snapshotOf(store, at)))
    this.#stored = minute
  }
}

async function snapshotOf(store: Store, now: number): Promise<Stored> {
  const [stats, names] = await Promise.all([statsOf(store, now), store.ordered.queues()])
  const ordered: Record<string, OrderedSnapshot> = {}
  for (const name of names.slice(0, MOST_ORDERED)) {
    const { length, busy, lag, morgueLength, processed, failed } = orderedStatsOf(await store.ordered.counts(name, now))
    ordered[name] = { length, busy, lag: Math.round(lag * 10) / 10, morgueLength, processed, failed }
  }
  return { ...stats, takenAt: now, ordered }
}

/** Returns the snapshots of the last `n` spans, this one included, oldest first. */
export async function snapshotsOf(
  { store, now }: Pick<AppPort, 'store' | 'now'>,
  span: SnapshotSpan,
  n: number,
): Promise<StatsSnapshot[]> {
  const ms = span * MINUTE
  const last = now() - (now() % ms)
  const times = Array.from({ length: n }, (_, i) => last - (n - 1 - i) * ms)
  return (await store.metrics.snapshots(span, times)).flatMap(({ at, text }) => {
    const read = parsed(text)
    return read ? { ...read, at: new Date(at), takenAt: new Date(read.takenAt ?? at) } : []
  })
}

/** Returns undefined for the text of another program. */
function parsed(text: string): Stored | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) && isObject(value.ordered) ? (value as unknown as Stored) : undefined
  } catch {
    return undefined
  }
}
