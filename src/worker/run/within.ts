/** Runs a part of a handler when a limit has room for it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { JobContext } from '../../job/context.ts'
import { invalidOption } from '../../job/errors.ts'
import { type NamedLimit, OverLimit, type WithinOptions } from '../../job/limit.ts'
import type { Limit, LimitAnswer, ReleaseSlotEffect, Store } from '../../store/contract.ts'
import type { Attempt } from './attempt.ts'
import { limitFor } from './limit.ts'

/** A handler that waits for room asks again at this interval. */
const SLOT_ASK_MS = 100

/** The number of uses of limits by handlers so far. */
let uses = 0

/** The releases of slots that handlers have. */
const held = new WeakSet<ReleaseSlotEffect>()

/** @throws OverLimit when the limit has no room for `wait` seconds; INVALID_OPTION when it can never have room for this job */
export async function runWithin<Result>(
  store: Store,
  { attempt, owner }: { attempt: Attempt; owner: string },
  named: NamedLimit,
  { wait = 0, key }: WithinOptions,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const { ctx, fetched } = attempt
  const limit = limitWithin(ctx, attempt.limitNames, named, key)
  // The handler may use the limit several times at once, and the job may have a slot of it besides.
  const ticket = `${fetched.ticket}+${++uses}`
  /** The number of slots that the limit has now. */
  let { max } = limit
  const release: ReleaseSlotEffect = { kind: 'release-slot', limit: limit.name, owner, ticket }
  const until = performance.now() + wait * 1000
  const releaseAtEnd = () => {
    if (attempt.slotReleases?.includes(release)) return
    attempt.slotReleases = [...(attempt.slotReleases ?? []), release]
  }
  // Whatever happens, the step that settles the attempt releases the slot.
  if (limit.max > 0) releaseAtEnd()
  const ask = async () => {
    try {
      return (await store.limits.acquire(owner, [{ ticket, limits: [limit] }])) as [LimitAnswer]
    } catch (thrown) {
      // The store may have given a slot all the same, also of a limit that has some only because they were set.
      releaseAtEnd()
      throw thrown
    }
  }
  try {
    for (;;) {
      const [{ over, ms, slots = [limit.max] }] = await ask()
      max = slots[0] as number
      // The limit may have slots only because they were set.
      if (max > 0) releaseAtEnd()
      if (over === null) held.add(release)
      checkRuns(attempt, named)
      const pause = over !== null && max > 0 ? Math.min(ms, SLOT_ASK_MS) : ms
      if (over !== null && performance.now() + pause > until) {
        const own = attempt.slotReleases?.filter((one) => one.limit === limit.name && held.has(one)) ?? []
        if (max === 0 || own.length < max) throw new OverLimit(limit)
        throw invalidOption(
          `limit ${named.name}: this job has all of its slots (${max}) already, in other calls of within that have not ended; end them first, or give this call a longer wait`,
        )
      }
      if (pause > 0) {
        await sleep(Math.ceil(pause), undefined, { signal: ctx.signal })
        checkRuns(attempt, named)
      }
      if (over === null) break
    }
    return await work()
  } finally {
    if (max > 0 && held.has(release) && (await isReleased(store, release))) {
      attempt.slotReleases = attempt.slotReleases?.filter((one) => one !== release) ?? []
    }
  }
}

/** @throws INVALID_OPTION when the attempt has ended, because no step would release a slot that it acquires now; or the loss of its lease */
function checkRuns({ ctx, outcome }: Attempt, named: NamedLimit): void {
  if (ctx.abortReason?.code === 'LEASE_LOST') throw ctx.abortReason
  if (!outcome) return
  throw invalidOption(
    `limit ${named.name}: the job ${ctx.payload.class} ended while a call of within waited for room, so its work did not run; await each call of within in the handler`,
  )
}

/** Runs a part of a handler of a job that no worker runs: the limit always has room. @throws INVALID_OPTION */
export async function runWithinInline<Result>(
  { ctx, limitNames }: { ctx: JobContext; limitNames: readonly string[] | undefined },
  named: NamedLimit,
  { key }: WithinOptions,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  limitWithin(ctx, limitNames, named, key)
  return work()
}

/** Returns the limit of a part of a handler. @throws INVALID_OPTION when the job has it already, or the key is wrong */
function limitWithin(
  ctx: JobContext,
  limitNames: readonly string[] | undefined,
  named: NamedLimit,
  key: WithinOptions['key'],
): Limit {
  const limit = limitFor(named, () => key ?? named.options.by?.(...ctx.args))
  if (!limitNames?.includes(limit.name)) return limit
  throw invalidOption(
    `limit ${named.name}: the job ${ctx.payload.class} has this limit already, by its option limit; remove it there or call no within, because the job could wait for itself for ever`,
  )
}

/** Releases a slot. Resolves with false when the store does not answer. */
async function isReleased(store: Store, release: ReleaseSlotEffect): Promise<boolean> {
  return store.limits.release(release).then(
    () => true,
    () => false,
  )
}
