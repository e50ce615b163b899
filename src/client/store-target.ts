/** Pushes to a store. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode, PushError } from '../job/errors.ts'
import { inSteps } from '../job/push-steps.ts'
import type { PushItem, Store } from '../store/contract.ts'
import { BULK } from './bulk.ts'
import { type OrderedNames, orderedNamesOf } from './ordered-names.ts'
import { DirectTarget, idsOf, type PreparedOrderedPush, type PreparedPush } from './push-target.ts'

const ORDERED_BATCHES_AT_ONCE = 20
/** Milliseconds for which an idempotent push is repeated: a store remembers its id for longer. */
const RESEND_MS = 30_000
const UNREACHABLE: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

export class StoreTarget extends DirectTarget {
  readonly #store: () => Store
  readonly #now: () => number
  #batch: { items: PushItem[]; stored: Promise<void> } | undefined
  /** The number of calls without an answer so far. */
  #awaited = 0

  constructor(store: () => Store, now: () => number) {
    super()
    this.#store = store
    this.#now = now
  }

  override get orderedNames(): OrderedNames {
    return orderedNamesOf(this.#store())
  }

  put({ destination, track }: PreparedPush): Promise<void> {
    if (track) return this.#store().tasks.pushTracked([{ task: track, item: destination }], this.#now())
    // An idempotent push gets a call of its own, so that its error does not reject other pushes.
    return destination.once
      ? resend(() => this.#store().jobs.push([destination], this.#now()))
      : this.#batched(destination)
  }

  async putAll(jobs: PreparedPush[]): Promise<void> {
    const tracked = jobs.flatMap(({ track, destination }) => (track ? { task: track, item: destination } : []))
    const items = jobs.flatMap(({ track, destination }) => (track ? [] : destination))
    const put = () => this.#store().jobs.push(items, this.#now())
    const steps = [
      { items: tracked.map(({ item }) => item), put: () => this.#store().tasks.pushTracked(tracked, this.#now()) },
      { items, put: () => (items.every(({ once }) => once) ? resend(put) : put()) },
    ]
    await inSteps(steps.filter((step) => step.items.length > 0))
  }

  /** Stores batches together, since a store may write several in one commit. */
  async putOrdered({ batches }: PreparedOrderedPush): Promise<void> {
    const store = this.#store()
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
   * Stores all pushes of one turn of the event loop in one call, at most BULK jobs each. While nothing is under way, the
   * first one goes at once, if the store takes several calls at the same time.
   */
  #batched(item: PushItem): Promise<void> {
    let batch = this.#batch
    if (!batch && this.#awaited === 0 && this.#store().maxConcurrentCalls > 1) return this.#push([item])
    // Above BULK a store may need several steps, and its error would not say which jobs failed.
    if (!batch || batch.items.length >= BULK) {
      const items: PushItem[] = []
      const stored = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        if (this.#batch?.items === items) this.#batch = undefined
        return this.#push(items)
      })
      batch = { items, stored }
      this.#batch = batch
    }
    batch.items.push(item)
    return batch.stored
  }

  async #push(items: PushItem[]): Promise<void> {
    this.#awaited++
    try {
      await this.#store().jobs.push(items, this.#now())
    } finally {
      this.#awaited--
    }
  }
}

/** Repeats an idempotent push while the store is unreachable. @throws PushError */
async function resend(push: () => Promise<void>): Promise<void> {
  const end = performance.now() + RESEND_MS
  let maybePushed = false
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await push()
    } catch (thrown) {
      if (!(thrown instanceof PushError)) throw thrown
      const isFirst = !maybePushed
      maybePushed ||= thrown.maybePushed
      if (!UNREACHABLE.some((code) => hasCode(thrown.cause, code)) || performance.now() + pause > end) {
        // An earlier attempt may have stored the jobs that the last one did not.
        const parts = isFirst || !maybePushed ? thrown.parts : undefined
        throw new PushError(thrown.message, thrown.jids, maybePushed, { cause: thrown.cause, parts })
      }
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}
