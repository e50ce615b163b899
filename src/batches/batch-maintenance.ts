/**
 * Deletes old batches, continues to cancel batches, and makes sure that every batch ends: it changes members whose jobs
 * another program has run, deleted, killed or retried. One worker at a time does this.
 *
 * A member is changed when two walks in a row did not find its job where the batch says, and the batch had no progress
 * meanwhile. Each step of Highkiq that moves a job against the order of a walk is progress of its batch (`moved`), so a job
 * that exists during both walks is found in one of them.
 */

import { jobsInOrder, pages } from '../inspect/walk.ts'
import { given } from '../job/options.ts'
import type { BatchEffect, BatchProgress, BatchRecord, MemberChange, MemberState } from '../store/contract.ts'
import type { LeaderLock } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import { FAR_AHEAD_MS, ItemRunner, Maintenance, WalkPace } from '../worker/maintenance.ts'
import type { BatchMeta } from './batches.ts'
import { type Canceller, continueCancelling } from './cancel.ts'
import { innerBatch } from './jids.ts'
import { jobsOf, needleOf } from './jobs.ts'

const MIN_INTERVAL_SECONDS = 0.2
/** A batch without progress for this long is checked. */
const LOST_AFTER_MS = 3_600_000
/** A walk counts as this long at least: without an idle batch nothing is searched. */
const SHORTEST_WALK_MS = 600
const BATCH_PAGE = 1000
/** The number of members, about, that one walk through queues and sets looks for; a batch with more has several walks. */
const MEMBERS_PER_WALK = 100_000
const PAGE = 500
const PRUNED_AT_ONCE = 1000

/** An open member, and what seems to have happened to it; null: it is where its batch says. */
interface Member {
  state: MemberState
  change: MemberChange | null
}

/** The members of one batch that a walk looks for, by id. */
interface Part {
  batch: BatchRecord
  members: Map<string, Member>
}

/** The jobs that one walk looks for, by batch. */
type Parts = Map<string, Part>

export class BatchMaintenance extends Maintenance {
  readonly #app: Canceller & Pick<Engine, 'report'>
  readonly #lostAfterMs: number
  readonly #membersPerWalk: number
  readonly #pace: WalkPace
  readonly #cancellingPace: WalkPace
  /** The batches being cancelled whose jobs all have a request to be cancelled. */
  readonly #requested = new Set<string>()
  /** The batches that the last pass continued to cancel. */
  #passed: ReadonlySet<string> = new Set()
  readonly #cancelRunner: ItemRunner
  readonly #checkRunner: ItemRunner
  /** The changes that the last walk found due, by batch and member, with the progress of the batch. */
  #suspects = new Map<string, number>()

  constructor(
    app: Canceller & Pick<Engine, 'report'>,
    options: {
      everySeconds: number
      lostAfterMs?: number
      membersPerWalk?: number
      walkingPart?: number
      lock?: LeaderLock
    },
  ) {
    const { everySeconds, lostAfterMs = LOST_AFTER_MS, membersPerWalk = MEMBERS_PER_WALK, walkingPart } = options
    const everyMs = Math.max(everySeconds, MIN_INTERVAL_SECONDS) * 1000
    super(app, { during: 'batch maintenance', everyMs, ...given(options, ['lock']) })
    this.#app = app
    const about = (bid: string) => ({ bid, during: 'batch maintenance' })
    this.#cancelRunner = new ItemRunner(app.report, about)
    this.#checkRunner = new ItemRunner(app.report, about)
    this.#lostAfterMs = lostAfterMs
    this.#membersPerWalk = membersPerWalk
    this.#pace = new WalkPace(walkingPart, SHORTEST_WALK_MS)
    this.#cancellingPace = new WalkPace(walkingPart)
  }

  /** Runs one round, unless another process holds the lock. */
  public override async run(): Promise<void> {
    const { store, now } = this.#app
    if (!(await this.isLeader())) {
      // Batches may end, and be cancelled again, before this process is the leader again.
      this.#requested.clear()
      this.#passed = new Set()
      return
    }
    if ((await store.batches.prune(now(), PRUNED_AT_ONCE)) === PRUNED_AT_ONCE) this.runWithin(0)
    await this.#continueCancelling()
    if (this.#pace.isDue) await this.#pace.run(() => this.#walk())
  }

  /** Continues to cancel batches: at once if one was cancelled since the last pass, otherwise at the pace of walks. */
  async #continueCancelling(): Promise<void> {
    const { store } = this.#app
    const cancelling = new Set<string>()
    for await (const { items } of pages((after) => store.batches.cancelling({ after, limit: BATCH_PAGE }))) {
      for (const bid of items) cancelling.add(bid)
    }
    for (const bid of this.#requested) if (!cancelling.has(bid)) this.#requested.delete(bid)
    this.#passed = new Set([...this.#passed].filter((bid) => cancelling.has(bid)))
    const isNew = [...cancelling].some((bid) => !this.#passed.has(bid) && !this.#requested.has(bid))
    if (cancelling.size === 0 || (!isNew && !this.#cancellingPace.isDue)) return
    await this.#cancellingPace.run(async () => {
      const removed = await continueCancelling(
        this.#app,
        cancelling,
        this.#requested,
        () => this.isLeader(),
        (bid, work) => this.#cancelRunner.run(bid, work),
      )
      if (await this.isLeader()) this.#passed = cancelling
      // A job that moved meanwhile may have been missed, so a pass that has removed some is repeated at once.
      return removed === 0 && !this.isStopping ? 'done' : 'stopped'
    })
  }

  async #walk(): Promise<'done' | 'unconfirmed' | 'stopped'> {
    await this.#correctProgress()
    const suspects = new Map<string, number>()
    /** The times of the progress that this walk has made. */
    const changedAt = new Map<string, number>()
    for await (const parts of this.#parts()) {
      if (!(await this.#locate(parts))) return 'stopped'
      // The end of a batch is progress of the one around it, which is therefore checked before.
      for (const part of [...parts.values()].toSorted((a, b) => a.batch.depth - b.batch.depth)) {
        if (!(await this.isLeader())) return 'stopped'
        await this.#checkRunner.run(part.batch.bid, () => this.#check(part, suspects, changedAt))
      }
    }
    const isConfirmed = [...suspects].every(([key, progressAt]) => this.#suspects.get(key) === progressAt)
    this.#suspects = suspects
    // The next walk must come soon while suspects are not confirmed, because they are lost if this worker stops. It
    // must also come soon after the check of a batch has failed.
    return isConfirmed && this.#checkRunner.pausing === 0 ? 'done' : 'unconfirmed'
  }

  /** Yields the open members of batches without progress, as many at a time as one walk looks for. */
  async *#parts(): AsyncGenerator<Parts> {
    const { store, now } = this.#app
    let parts: Parts = new Map()
    let size = 0
    for await (const batch of this.#idle(now() - this.#lostAfterMs)) {
      for await (const { items } of pages((after) => store.batches.members(batch.bid, { after, limit: PAGE }))) {
        const part = parts.get(batch.bid) ?? { batch, members: new Map<string, Member>() }
        parts.set(batch.bid, part)
        for (const { id, state } of items) part.members.set(id, { state, change: 'failed' })
        size += items.length
        if (size < this.#membersPerWalk) continue
        yield parts
        parts = new Map()
        size = 0
      }
    }
    if (parts.size > 0) yield parts
  }

  /** Yields batches without progress since `before`; with `after`, only those behind it. */
  async *#idle(before: number, after?: BatchProgress): AsyncGenerator<BatchRecord> {
    const { store } = this.#app
    do {
      const { items, next } = await store.batches.idle(before, { after, limit: BATCH_PAGE })
      yield* items
      after = next ?? undefined
    } while (after)
  }

  /** Sets the times of progress that are far in the future to now. */
  async #correctProgress(): Promise<void> {
    const { store, now } = this.#app
    const farAhead = { progressAt: now() + FAR_AHEAD_MS, bid: '' }
    for await (const { bid } of this.#idle(Number.MAX_SAFE_INTEGER, farAhead)) {
      if (!(await this.isLeader())) return
      await this.#checkRunner.run(bid, async () => {
        const { items } = await store.batches.members(bid, { limit: 1 })
        const effects = items.map(({ id: member }) => ({ kind: 'batch', bid, member, change: 'moved' }) as const)
        await store.batches.apply(effects, now())
      })
    }
  }

  /** Finds the jobs of open members. Resolves with false when this process is no longer the leader. */
  async #locate(parts: Parts): Promise<boolean> {
    const { store } = this.#app
    const needle = needleOf(new Set(parts.keys()))
    const note = async (items: readonly { text: string }[], isDead: boolean) => {
      for (const { payload } of jobsOf(items, parts)) {
        const member = parts.get(payload.bid)?.members.get(payload.jid)
        if (!member) continue
        if (isDead) member.change = member.state === 'dead' ? null : 'dead'
        else member.change = member.state === 'dead' ? 'waiting' : null
      }
      return this.isLeader()
    }
    for await (const { items } of jobsInOrder(store, needle)) if (!(await note(items, false))) return false
    for await (const { items } of pages((after) => store.search.scanSet('dead', needle, { after, limit: PAGE }))) {
      if (!(await note(items, true))) return false
    }
    return true
  }

  /** Changes the members that two walks found changed in the same way, while nothing in the batch changed. */
  async #check({ batch, members }: Part, suspects: Map<string, number>, changedAt: Map<string, number>): Promise<void> {
    const { store, now } = this.#app
    const { bid, progressAt } = batch
    const { children = [] } = JSON.parse(batch.meta) as BatchMeta
    const effects: BatchEffect[] = []
    for (const [id, { change }] of members) {
      // A nested batch, or a job that waits in one, changes only with that batch.
      if (!change || (await innerBatch(store.batches, bid, id)) !== undefined) continue
      const key = `${bid} ${id} ${change}`
      suspects.set(key, progressAt)
      if (this.#suspects.get(key) === progressAt) effects.push(effectOf(bid, children, id, change))
    }
    for (let from = 0; from < effects.length; from += PAGE) {
      const current = await store.batches.find(bid)
      if (current?.progressAt !== (changedAt.get(bid) ?? progressAt)) return
      const at = now()
      changedAt.set(bid, at)
      await store.batches.apply(effects.slice(from, from + PAGE), at)
    }
  }
}

function effectOf(
  bid: string,
  children: NonNullable<BatchMeta['children']>,
  member: string,
  change: MemberChange,
): BatchEffect {
  const index = children.findIndex(({ jid }) => jid === member)
  const text = JSON.stringify({ failed: { message: 'the job was not found any more' } })
  const isNoted = change === 'failed' && index >= 0
  return { kind: 'batch', bid, member, change, note: isNoted ? { key: String(index), text } : undefined }
}
