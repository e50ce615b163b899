/**
 * Deletes old batches, and makes sure that every batch ends: it changes members whose jobs another program has run, deleted,
 * killed or retried. One worker at a time does this. A walk through queues and sets may take long, so the pause after it is a
 * hundred times as long.
 */

import { pages } from '../inspect/walk.ts'
import { isBid, readPayload } from '../job/payload.ts'
import type { BatchEffect, BatchRecord, MemberChange, MemberState, Scan, ScanPage, SetName } from '../store/contract.ts'
import { LeaderLock, Periodic } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'

const LOCK_SECONDS = 60
const LOCK_RENEWAL_MS = 20_000
const MIN_INTERVAL_SECONDS = 0.2
/** A batch without progress for this long is checked. */
const LOST_AFTER_MS = 3_600_000
const WALKING_PART = 0.01
const LONGEST_PAUSE_MS = 3_600_000
/** The number of batches that one walk through queues and sets checks. */
const BATCHES_PER_WALK = 1000
const PAGE = 500
const PRUNED_AT_ONCE = 1000

/** Where jobs of batches are, by batch and jid. */
type Locations = Map<string, Map<string, 'waiting' | 'dead'>>

export class BatchMaintenance extends Periodic {
  readonly #app: Pick<Engine, 'store' | 'now' | 'report'>
  readonly #lock: LeaderLock
  readonly #lostAfterMs: number
  readonly #walkingPart: number
  /** The changes that the last walk found due, by batch and member, with the progress of the batch. */
  #suspects = new Map<string, number>()
  /** When this process walks again, on the monotonic clock. */
  #walkAgainAt = 0

  constructor(
    app: Pick<Engine, 'store' | 'now' | 'report'>,
    options: { everySeconds: number; lostAfterMs?: number; walkingPart?: number },
  ) {
    const { everySeconds, lostAfterMs = LOST_AFTER_MS, walkingPart = WALKING_PART } = options
    const times = { seconds: LOCK_SECONDS, renewMs: LOCK_RENEWAL_MS, retryMs: LOCK_RENEWAL_MS }
    const lock = new LeaderLock(() => app.store, 'batches', times)
    super(app.report, {
      during: 'batch maintenance',
      everyMs: Math.max(everySeconds, MIN_INTERVAL_SECONDS) * 1000,
      lock,
    })
    this.#app = app
    this.#lock = lock
    this.#lostAfterMs = lostAfterMs
    this.#walkingPart = walkingPart
  }

  /** Runs one round, unless another process holds the lock. */
  public override async run(): Promise<void> {
    const { store, now } = this.#app
    if (this.isStopping || !(await this.#lock.acquire())) return
    await store.batches.prune(now(), PRUNED_AT_ONCE)
    if (performance.now() < this.#walkAgainAt) return
    const began = performance.now()
    await this.#walk()
    const tookMs = performance.now() - began
    // Without an idle batch nothing was searched, and the next call is as cheap.
    const pause = Math.max(tookMs / this.#walkingPart, this.#lostAfterMs / 60)
    this.#walkAgainAt = performance.now() + Math.min(pause, LONGEST_PAUSE_MS)
  }

  async #walk(): Promise<void> {
    const { store, now } = this.#app
    const before = now() - this.#lostAfterMs
    const suspects = new Map<string, number>()
    let after: BatchRecord | undefined
    do {
      const idle = await store.batches.idle(before, { after, limit: BATCHES_PER_WALK })
      const locations = idle.length > 0 ? await this.#locate(idle) : new Map()
      for (const batch of idle) {
        if (this.isStopping || !(await this.#lock.acquire())) return
        await this.#check(batch, locations.get(batch.bid) ?? new Map(), suspects)
      }
      after = idle.length < BATCHES_PER_WALK ? undefined : idle.at(-1)
    } while (after)
    this.#suspects = suspects
  }

  /** Changes the members that two walks found somewhere else than the batch says, while nothing in the batch changed. */
  async #check(
    batch: BatchRecord,
    locations: Map<string, 'waiting' | 'dead'>,
    suspects: Map<string, number>,
  ): Promise<void> {
    const { store, now } = this.#app
    const effects: BatchEffect[] = []
    let after: string | undefined
    do {
      const { items, next } = await store.batches.members(batch.bid, { after, limit: PAGE })
      for (const { id, state } of items) {
        const change = changeOf(state, locations.get(id))
        if (!change || (await this.#waitsInside(id, batch))) continue
        const key = `${batch.bid} ${id} ${change}`
        suspects.set(key, batch.progressAt)
        if (this.#suspects.get(key) === batch.progressAt) effects.push(effectOf(batch, id, change))
      }
      after = next ?? undefined
    } while (after !== undefined)
    if (effects.length === 0) return
    const current = await store.batches.find(batch.bid)
    if (current?.progressAt === batch.progressAt) await store.batches.apply(effects, now())
  }

  /** Returns whether a member is a nested batch, or a job that waits in one: those change only with that batch. */
  async #waitsInside(id: string, { meta }: BatchRecord): Promise<boolean> {
    const { store } = this.#app
    if (isBid(id)) return (await store.batches.find(id)) !== null
    const { children = [] } = JSON.parse(meta) as { children?: { jid: string; bid?: string }[] }
    const inner = children.find(({ jid }) => jid === id)?.bid
    return inner !== undefined && (await store.batches.find(inner))?.job?.jid === id
  }

  /** Finds the jobs of batches, in the order in which a job moves. */
  async #locate(batches: readonly BatchRecord[]): Promise<Locations> {
    const { store } = this.#app
    const locations: Locations = new Map(batches.map(({ bid }) => [bid, new Map()]))
    const [only, ...others] = locations.keys()
    const needle = others.length === 0 ? `"${only}"` : '"bid"'
    const inSet = (set: SetName, place: 'waiting' | 'dead' = 'waiting') =>
      note(locations, place, (page) => store.search.scanSet(set, needle, page))
    for (const { name } of await store.jobs.queues()) {
      await note(locations, 'waiting', (page) => store.search.scanQueue(name, needle, page))
    }
    await note(locations, 'waiting', (page) => store.workers.fetched(page))
    for (const { text } of await store.workers.running()) noteJob(locations, 'waiting', text)
    await inSet('schedule')
    await inSet('retry')
    for (const { name } of await store.limits.list()) await inSet(`limited:${name}`)
    await inSet('dead', 'dead')
    return locations
  }
}

/** Returns what has happened to a member that is somewhere, or nowhere; undefined: the batch knows it. */
function changeOf(state: MemberState, place: 'waiting' | 'dead' | undefined): MemberChange | undefined {
  if (place === undefined) return 'failed'
  if (place === 'dead') return state === 'dead' ? undefined : 'dead'
  return state === 'dead' ? 'waiting' : undefined
}

function effectOf({ bid, meta }: BatchRecord, member: string, change: MemberChange): BatchEffect {
  const { children = [] } = JSON.parse(meta) as { children?: { jid: string }[] }
  const place = children.findIndex(({ jid }) => jid === member)
  const text = JSON.stringify({ failed: { message: 'the job was not found any more' } })
  const isNoted = change === 'failed' && place >= 0
  return { kind: 'batch', bid, member, change, note: isNoted ? { key: String(place), text } : undefined }
}

function noteJob(locations: Locations, place: 'waiting' | 'dead', text: string): void {
  const payload = text.includes('"bid"') ? readPayload(text) : undefined
  if (payload && isBid(payload.bid)) locations.get(payload.bid)?.set(payload.jid, place)
}

async function note(
  locations: Locations,
  place: 'waiting' | 'dead',
  read: (page: ScanPage) => Promise<Pick<Scan<{ text: string }>, 'items' | 'next'>>,
): Promise<void> {
  for await (const { items } of pages((after) => read({ after, limit: PAGE }))) {
    for (const { text } of items) noteJob(locations, place, text)
  }
}
