/** Resolves a push that a store refuses because another job has its lock, or because its queue is full. */

import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, HighkiqError, messageOf, PushError } from '../job/errors.ts'
import { queueFull } from '../job/queue-full.ts'
import type { OnConflict } from '../job/unique.ts'
import type { PushItem, RefusedPush } from '../store/contract.ts'

/** A push throws UNIQUE_CONFLICT when the job that has its lock changed this often before it could be replaced. */
const MOST_REPLACEMENTS = 50
const REPLACE_PAUSE_MS = 20

/** A push that was refused because of a lock, and whose arguments go to the job that has it. */
export interface Conflict {
  how: 'replace' | 'debounce'
  /** The jid of that job. */
  holder: string
  /** The score with which it was scheduled, as far as is known. */
  due: number | null
  /** The time of the refused push, in seconds since the epoch. */
  at: number | undefined
  /** Whether this holder was searched for before, and the store then refused the push again because of the same lock. */
  isRepeated: boolean
}

/** A push that a store refuses, and what can be done about it. */
export interface RefusedRequest {
  /** The name of the job. */
  name: string
  jid: string
  destination: PushItem
  refusal: RefusedPush
  onConflict: OnConflict
  /** See DirectTarget.replaceHolder. */
  replaceHolder: (conflict: Conflict) => Promise<boolean>
  /** Tries again to store the job. Resolves with the new refusal, or undefined when it is stored. */
  putAgain: () => Promise<RefusedPush | undefined>
}

/** Returns the jid for a push that was refused. @throws UNIQUE_CONFLICT, QUEUE_FULL, PushError */
export async function resolveRefused(refused: RefusedRequest): Promise<string> {
  const { name, jid, destination, onConflict: how } = refused
  const at = destination.to === 'schedule' ? destination.score : undefined
  let { holder, due } = refused.refusal
  let isRepeated = false
  for (let attempt = 1; ; attempt++) {
    if (holder === null) {
      throw queueFull(name, destination.to === 'queue' ? destination.queue : '', destination.maxLength as number)
    }
    // An earlier push has stored this job.
    if (holder === jid) return holder
    if (how === 'raise') throw uniqueConflict(name, holder)
    if (how === 'drop') return holder
    if (attempt > MOST_REPLACEMENTS) throw uniqueConflict(name, holder)
    if (attempt > 1) await sleep(REPLACE_PAUSE_MS)
    try {
      if (await refused.replaceHolder({ how, holder, due, at, isRepeated })) return holder
    } catch (thrown) {
      if (!codeOf(thrown)?.startsWith('STORE_')) throw thrown
      // The holder may have the arguments, but this job is not stored.
      throw new PushError(messageOf(thrown), [jid], false, { cause: thrown })
    }
    const again = await refused.putAgain()
    if (!again) return jid
    isRepeated = again.holder === holder
    ;({ holder, due } = again)
  }
}

export function uniqueConflict(name: string, holder: string): HighkiqError {
  const hint = "use onConflict: 'drop' to get its jid instead"
  const message = `${name}: not pushed, because job ${holder} has its lock: wait until that job has ended, or ${hint}`
  return new HighkiqError('UNIQUE_CONFLICT', message, { jid: holder, option: 'onConflict', hint })
}
