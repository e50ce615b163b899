/** Pushes to a store. */

import { isRecorded } from '../events/job-event.ts'
import { type Recording, recordingOf } from '../events/recording.ts'
import { PushError } from '../job/errors.ts'
import { readPayload } from '../job/payload.ts'
import { inSteps } from '../job/push-steps.ts'
import {
  type BatchPush,
  type BatchRefusal,
  NOTHING_REFUSED,
  type PushItem,
  type RefusedPush,
  refuseUniqueMembers,
  type Store,
  type TrackedPush,
} from '../store/contract.ts'
import { isLarge, outermostOf, putInSteps } from './batch-steps.ts'
import { BULK } from './bulk.ts'
import { type OrderedNames, orderedNamesOf } from './ordered-names.ts'
import { addBatchEvents, addPushEvent, addPushEvents, eventOf } from './push-events.ts'
import { DirectTarget, idsOf, type PreparedOrderedPush, type PreparedPush, type PushPipe } from './push-target.ts'
import type { Conflict } from './refused-push.ts'
import { resend } from './resend.ts'

const ORDERED_BATCHES_AT_ONCE = 20

export class StoreTarget extends DirectTarget {
  readonly #storeOf: () => Store
  readonly #now: () => number
  #gathered: { pushes: PreparedPush[]; stored: Promise<readonly RefusedPush[]> } | undefined
  /** The number of calls of `#storeGathered` without an answer so far. */
  #awaited = 0

  constructor(store: () => Store, now: () => number) {
    super()
    this.#storeOf = store
    this.#now = now
  }

  override get orderedNames(): OrderedNames {
    return orderedNamesOf(this.#storeOf())
  }

  put(prepared: PreparedPush): Promise<readonly RefusedPush[]> {
    const asking = this.#recording.refreshed()
    return asking ? asking.then(() => this.#gatherOrPut(prepared)) : this.#gatherOrPut(prepared)
  }

  #gatherOrPut(prepared: PreparedPush): Promise<readonly RefusedPush[]> {
    const { destination, track } = prepared
    // An idempotent push gets a call of its own, so that its error does not reject other pushes.
    if (!track && !destination.once) return this.#gather(prepared)
    if (this.#recording.mayBeOn()) addPushEvent(prepared, this.#now())
    return track
      ? this.#storeTracked([{ task: track, item: destination }])
      : resend(() => this.#storeItems([destination]))
  }

  async putAll(jobs: PreparedPush[]): Promise<readonly RefusedPush[]> {
    await this.#recording.refreshed()
    if (this.#recording.mayBeOn()) addPushEvents(jobs, this.#now())
    const tracked: TrackedPush[] = []
    const items: PushItem[] = []
    for (const { track, destination } of jobs) {
      if (track) tracked.push({ task: track, item: destination })
      else items.push(destination)
    }
    const put = () => this.#storeItems(items)
    const steps = [
      { items: tracked.map(({ item }) => item), put: () => this.#storeTracked(tracked) },
      { items, put: () => (items.every(({ once }) => once) ? resend(put) : put()) },
    ]
    return inSteps(steps.filter((step) => step.items.length > 0))
  }

  async putBatch(push: BatchPush): Promise<BatchRefusal | readonly RefusedPush[]> {
    // Before the first of several steps is stored.
    if (this.#storeOf().shardUrls) refuseUniqueMembers(push)
    const put = () => this.#storeOf().batches.push(push, this.#now())
    await this.#recording.refreshed()
    if (this.#recording.mayBeOn()) addBatchEvents(push, this.#now())
    const onStored = ({ members }: BatchPush, refused: readonly RefusedPush[]) =>
      this.#recordIfLate(
        members.flatMap(({ item }) => item ?? []),
        refused,
      )
    if (isLarge(push)) return putInSteps(this.#storeOf(), push, this.#now, onStored)
    try {
      // A repeated creation is harmless.
      const answer = await (push.batches.length > 0 ? resend(put) : put())
      const refused = answer === 'exists' ? NOTHING_REFUSED : answer
      if (!('reason' in refused)) await onStored(push, refused)
      return refused
    } catch (thrown) {
      if (!(thrown instanceof PushError)) throw thrown
      const jids = push.members.flatMap(({ id, item }) => (item ? [id] : []))
      const [bid = ''] = outermostOf(push)
      throw new PushError(thrown.message, jids, thrown.maybePushed, { cause: thrown.cause, bid })
    }
  }

  replaceHolder(pipe: PushPipe, prepared: PreparedPush, conflict: Conflict): Promise<boolean> {
    return pipe.replaceHolder(this.#storeOf(), prepared, conflict)
  }

  /** Stores batches together, since a store may write several in one commit. */
  async putOrdered({ batches }: PreparedOrderedPush): Promise<void> {
    const store = this.#storeOf()
    for (let from = 0; from < batches.length; from += ORDERED_BATCHES_AT_ONCE) {
      const some = batches.slice(from, from + ORDERED_BATCHES_AT_ONCE)
      const sent = some.map(({ queue, shards, items }) => store.ordered.push(queue, shards, items, this.#now()))
      const answers = await Promise.allSettled(sent)
      const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
      const other = failures.find((thrown) => !(thrown instanceof PushError))
      if (other !== undefined) throw other
      const failed = failures as PushError[]
      if (failed[0] === undefined) continue
      const left = [...some.filter((_, i) => answers[i]?.status === 'rejected'), ...batches.slice(from + some.length)]
      const maybePushed = failed.some((thrown) => thrown.maybePushed)
      throw new PushError(failed[0].message, idsOf(left), maybePushed, { cause: failed[0].cause })
    }
  }

  /**
   * Stores the single pushes of one turn of the event loop together. A store that takes several calls at the same time gets
   * parts of BULK in several calls, and works on one while this process prepares the next. It gets the first push at once when
   * no earlier call awaits its answer.
   */
  #gather(prepared: PreparedPush): Promise<readonly RefusedPush[]> {
    const { maxConcurrentCalls } = this.#storeOf()
    let gathered = this.#gathered
    if (!gathered && this.#awaited === 0 && maxConcurrentCalls > 1) return this.#storeGathered([prepared])
    // Above BULK a store may need several steps, and its error would not say which jobs failed.
    if (!gathered || gathered.pushes.length >= BULK / maxConcurrentCalls) {
      const pushes: PreparedPush[] = []
      const stored = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        if (this.#gathered?.pushes === pushes) this.#gathered = undefined
        return this.#storeGathered(pushes)
      })
      gathered = { pushes, stored }
      this.#gathered = gathered
    }
    gathered.pushes.push(prepared)
    return gathered.stored
  }

  async #storeTracked(pushes: TrackedPush[]): Promise<readonly RefusedPush[]> {
    await this.#storeOf().tasks.pushTracked(pushes, this.#now())
    await this.#recordIfLate(
      pushes.map(({ item }) => item),
      NOTHING_REFUSED,
    )
    return NOTHING_REFUSED
  }

  async #storeItems(items: PushItem[]): Promise<readonly RefusedPush[]> {
    const refused = await this.#storeOf().jobs.push(items, this.#now())
    await this.#recordIfLate(items, refused)
    return refused
  }

  /** Records the events of a push that took so long that a recording may have been confirmed meanwhile. */
  async #recordIfLate(items: readonly PushItem[], refused: readonly RefusedPush[]): Promise<void> {
    if (!this.#recording.mayBeOn() || items.every(hasRecord)) return
    await this.#recording.ask()
    if (!this.#recording.isOn) return
    const records = items.flatMap((destination) => {
      const payload = readPayload(destination.text)
      if (
        hasRecord(destination) ||
        !payload ||
        !isRecorded(payload) ||
        refused.some(({ item }) => item === destination)
      )
        return []
      return eventOf({ jid: payload.jid, destination, payload }, this.#now())
    })
    // The jobs are stored, so the push succeeds in any case.
    await this.#storeOf()
      .events.append(records, this.#now())
      .catch(() => {})
  }

  get #recording(): Recording {
    return recordingOf(this.#storeOf(), this.#now)
  }

  async #storeGathered(pushes: PreparedPush[]): Promise<readonly RefusedPush[]> {
    // All of them carry an event, or none does: a store would store the two kinds in separate steps, and another call could run
    // in between.
    if (this.#recording.mayBeOn()) addPushEvents(pushes, this.#now())
    this.#awaited++
    try {
      return await this.#storeItems(pushes.map(({ destination }) => destination))
    } finally {
      this.#awaited--
    }
  }
}

function hasRecord({ effects }: PushItem): boolean {
  return effects?.some(({ kind }) => kind === 'record') ?? false
}
