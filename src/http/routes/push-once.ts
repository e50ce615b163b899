/** `Idempotency-Key` of jobs: the key determines their ids, so that a repeated request can find them. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from '../../app.ts'
import type { NewJob } from '../../client/push-target.ts'
import { type HighkiqError, PushError } from '../../job/errors.ts'
import { newTaskId, taskJid } from '../../job/payload.ts'
import { DAY, digest, keyOf, reused } from '../server/idempotency.ts'

/**
 * A claim that has not changed for this long is taken over: its request counts as dead. A request that still pushes renews
 * its claim three times in that time.
 */
const PATIENCE_MS = 30_000
const POLL_MS = 100
/** The number of claims whose age this process remembers. */
const MOST_CLAIMS = 1000

/** The stored value of a key: the seed of the ids, a time, the digest of the body, and the answers that differ. */
interface Claim {
  ids: string
  /** When the claim was last renewed, so that each renewal changes its text; 0: its request failed. */
  at: number
  body: string
  /**
   * What the caller gets instead of a new jid, by the index of the job: null when middleware stopped it, or the jid of the
   * job that has its lock. It is set once all jobs are pushed.
   */
  others?: Record<string, string | null>
  /** The indexes of the jobs that were not pushed, because other pushes had stored jobs with their own jids. */
  repeated?: number[]
}

const write = (claim: Claim) => JSON.stringify(claim)
const read = (text: string) => JSON.parse(text) as Claim

/**
 * When this process first read the text of a claim, on the monotonic clock, because clocks of servers differ. It is kept
 * between requests, so that a client with a short timeout succeeds with a later request.
 */
const firstRead = new Map<string, number>()

/** Returns for how many milliseconds this process has known the text of a claim. */
function unchangedMs(text: string): number {
  const now = performance.now()
  const since = firstRead.get(text) ?? now
  // Moves the claim to the end of the map, whose first entry is removed when it is full.
  firstRead.delete(text)
  firstRead.set(text, since)
  const [oldest] = firstRead.keys()
  if (firstRead.size > MOST_CLAIMS) firstRead.delete(oldest as string)
  return now - since
}

/** A time on both clocks, because the monotonic one may stand still while the machine is suspended. */
interface Time {
  monotonic: number
  wall: number
}

const timeNow = (): Time => ({ monotonic: performance.now(), wall: Date.now() })
/** Returns whether another request may have taken over a claim that was written at this time. */
const mayBeTakenOver = ({ monotonic, wall }: Time) =>
  Math.max(performance.now() - monotonic, Date.now() - wall) > PATIENCE_MS / 2

export interface Batch {
  /** The jid that each job brings itself, if any. */
  jids: (string | undefined)[]
  /**
   * Pushes the jobs with these indexes and ids. `existing` has the positions, among these, of jobs that were there before.
   * @param confirm given if no other request has pushed these jobs; see NewJob
   */
  push(
    jids: ReadonlyMap<number, string>,
    confirm: NewJob['confirm'] | undefined,
  ): Promise<{ jids: (string | null)[]; existing: number[] }>
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}

/**
 * Pushes what an earlier request with this key has not.
 * @param body of the request
 * @throws INVALID_REQUEST, IDEMPOTENCY_KEY_REUSED, and what pushing throws
 */
export async function pushOnce(
  hq: Highkiq,
  text: string,
  body: string,
  batch: Batch,
): Promise<{ jids: (string | null)[]; existing: number[]; isNew: boolean }> {
  const { store } = hq
  const key = keyOf('jobs', text)
  const found = ({ ids, others = {}, repeated = [] }: Claim, isNew: boolean) => {
    const isOther = (i: number) => Object.hasOwn(others, i)
    const jids = ownJids(ids, batch).map((jid, i) => (isOther(i) ? (others[i] as string | null) : jid))
    const wereThere = new Set(repeated)
    const existing = jids.flatMap((jid, i) => (jid !== null && (isOther(i) || wereThere.has(i)) ? [i] : []))
    return { jids, existing, isNew }
  }
  const mine: Claim = { ids: newTaskId(), at: hq.now(), body: digest(body) }
  const begun = timeNow()
  for (;;) {
    const there = await store.results.remember(key, write(mine), DAY)
    if (there === null || there === write(mine)) {
      return found(await pushed(hq, key, mine, batch, mayBeTakenOver(begun) ? undefined : begun), true)
    }
    const claim = read(there)
    if (claim.body !== mine.body) throw reused('for other jobs')
    if (claim.others) return found(claim, false)
    if (claim.at > 0 && unchangedMs(there) < PATIENCE_MS) {
      await sleep(POLL_MS, undefined, { signal: batch.signal })
      continue
    }
    // The other request died: push the jobs that are missing.
    const again: Claim = { ...claim, at: hq.now() }
    if ((await store.results.remember(key, write(again), DAY, there)) !== null) continue
    return found(await pushed(hq, key, again, batch), false)
  }
}

/**
 * Pushes the jobs, and returns the claim with their answers.
 * @param claimedAt the time of the claim; undefined: another request may have pushed some of the jobs
 */
async function pushed(hq: Highkiq, key: string, claim: Claim, batch: Batch, claimedAt?: Time): Promise<Claim> {
  const mayBeThere = claimedAt === undefined
  const jids = ownJids(claim.ids, batch)
  const missing = new Map<number, string>()
  const others: NonNullable<Claim['others']> = {}
  const repeated: number[] = []
  const renewal = renewClaim(hq, key, claim, claimedAt)
  try {
    for (const [i, jid] of jids.entries()) {
      if (!mayBeThere || (await hq.find(jid)).state === 'unknown') missing.set(i, jid)
    }
    const indexes = [...missing.keys()]
    const answers = await batch.push(missing, mayBeThere ? undefined : renewal.confirm)
    for (const [n, i] of indexes.entries()) if (answers.jids[n] !== jids[i]) others[i] = answers.jids[n] ?? null
    // The earlier request may have stored a job just now.
    for (const n of mayBeThere ? [] : answers.existing) repeated.push(indexes[n] as number)
    claim = await renewal.end()
  } catch (thrown) {
    claim = await renewal.end()
    // When nothing was pushed, the client can correct its request under the same key. Otherwise a repeat checks at once.
    const { code, details } = (thrown ?? {}) as Partial<HighkiqError>
    const wentIn = details?.pushed as unknown[] | undefined
    const none = !mayBeThere && code !== 'PUSH_FAILED' && (missing.size === 1 || wentIn?.length === 0)
    if (none) await hq.store.results.remember(key, '', 0, write(claim))
    else await hq.store.results.remember(key, write({ ...claim, at: 0 }), DAY, write(claim))
    throw thrown
  }
  const done = { ...claim, others, ...(repeated.length > 0 ? { repeated } : {}) }
  await hq.store.results.remember(key, write(done), DAY, write(claim))
  return done
}

/**
 * Renews the claim while the jobs are being pushed, so that no other request takes over. `end` returns the last claim. `confirm`
 * throws if another request may have taken over, because the process was stopped meanwhile.
 */
function renewClaim(hq: Highkiq, key: string, claim: Claim, claimedAt: Time = timeNow()) {
  let held = claim
  let heldAt = claimedAt
  let renewing: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    renewing = renewing.then(async () => {
      const began = timeNow()
      const next = { ...held, at: hq.now() }
      // After a store error the next renewal tries again. A claim that another request has taken over stays with it.
      if ((await hq.store.results.remember(key, write(next), DAY, write(held)).catch(() => '')) !== null) return
      held = next
      heldAt = began
    })
  }, PATIENCE_MS / 3)
  timer.unref()
  return {
    async end(): Promise<Claim> {
      clearInterval(timer)
      await renewing
      return held
    },
    confirm(jid: string): void {
      if (!mayBeTakenOver(heldAt)) return
      const message = `the process was stopped for more than ${PATIENCE_MS / 2000} s during the push, and another request with this Idempotency-Key may have pushed the job: repeat the request`
      throw new PushError(message, [jid], true)
    },
  }
}

/** Returns the jids of the jobs when each is stored. */
function ownJids(ids: string, { jids }: Batch): string[] {
  return jids.map((jid, i) => jid ?? taskJid(ids, i))
}
