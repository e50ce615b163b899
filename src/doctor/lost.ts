/** Locks and batches that wait for jobs that are in no queue and no job set. */

import type { Highkiq } from '../index.ts'
import { hasCode } from '../job/errors.ts'
import { quoted } from '../job/shell.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { type Check, each } from './check.ts'

/** At most this many jobs are searched for, for at most SEARCH_MS: a search may read all jobs. */
const SEARCHED = 20
const SEARCH_MS = 5000
/** A batch without progress for this long is examined. */
const STILL_MS = 3_600_000
const BATCHES = 1000
const MEMBERS = 20
const LOCKS = 500

/** Returns the items whose job is in no queue or job set and does not run, and of how many items the job was searched for. */
async function withoutJob<T>(hq: Highkiq, items: readonly T[], jidOf: (item: T) => string) {
  const signal = AbortSignal.timeout(SEARCH_MS)
  const lost: T[] = []
  let searched = 0
  for (const item of items.slice(0, SEARCHED)) {
    const found = await hq.find(jidOf(item), { signal }).catch((thrown) => {
      if (signal.aborted) return undefined
      throw thrown
    })
    if (!found) break
    searched++
    if (found.state === 'unknown') lost.push(item)
  }
  return { lost, searched }
}

export const locks: Check = async ({ hq, app, lockKey }) => {
  const page = await hq.store.unique.list({ limit: LOCKS }, hq.now())
  const bound = page.locks.filter(({ outlives }) => !outlives)
  // A walk of a worker suspects a lock whose job it did not find.
  const suspected = bound.filter(({ suspicion }) => suspicion !== null)
  const { lost, searched } = await withoutJob(
    hq,
    [...suspected, ...bound.filter(({ suspicion }) => suspicion === null)],
    (lock) => lock.holder,
  )
  const found = each(lost, ({ key, holder: jid }) => {
    // A hidden key can't release the lock.
    if (lockKey(key) !== key) return finding('warning', 'hidden-lock-lost', { jid, key: lockKey(key) })
    const command = `highkiq locks release ${quoted(key)} ${quoted(jid)}${app}`
    return finding('warning', 'lock-lost', { jid, key, command })
  })
  if (found.length > 0) return found
  const held = { n: page.locks.length, more: page.next === null ? '' : '+' }
  return searched === bound.length
    ? finding('ok', 'locks-ok', held)
    : finding('ok', 'locks-searched', { ...held, searched })
}

export const batches: Check = async ({ hq, app }) => {
  const { batches } = hq.store
  const { items } = await batches.idle(hq.now() - STILL_MS, { limit: BATCHES })
  const waiting = items.filter(({ pending }) => pending > 0)
  const members = await Promise.all(
    waiting.slice(0, SEARCHED).map(async (batch) => {
      const page = await hq.batches.memberPage(batch.bid, { limit: MEMBERS }).catch((thrown) => {
        // The batch has ended meanwhile, and is kept no longer.
        if (hasCode(thrown, 'UNKNOWN_BATCH')) return { items: [] }
        throw thrown
      })
      // A nested batch, and a job that waits for one, are in no queue.
      const job = page.items.find((member) => member.state !== 'dead' && member.batch === null)
      return job ? [{ batch, jid: job.id }] : []
    }),
  )
  const { lost, searched } = await withoutJob(hq, members.flat(), ({ jid }) => jid)
  const found = each(lost, ({ batch: { bid, progressAt }, jid }) => {
    const command = `highkiq batches show ${quoted(bid)}${app}`
    return finding('warning', 'batch-stuck', { bid, seconds: (hq.now() - progressAt) / 1000, jid, command })
  })
  if (found.length > 0) return found
  const all = members.flat().length + Math.max(waiting.length - SEARCHED, 0)
  return searched === all
    ? finding('ok', 'batches-ok', { n: waiting.length })
    : finding('ok', 'batches-searched', { n: waiting.length, searched })
}
