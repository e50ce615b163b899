/** What runs by the clock. */

import type { PushItem } from './jobs.ts'

/** Something that runs by the clock. Its times are milliseconds of the callers' clocks. */
export interface CronRecord {
  name: string
  /** How an app defines it: JSON text, opaque to the store. */
  text: string
  /** Everything up to here is decided: what is due lies behind it. */
  tick: number
  paused: boolean
  /** Whether a process that lives defines it so. */
  living: boolean
  /** The last job that was pushed for it, and when; null: none yet. */
  jid: string | null
  pushedAt: number | null
}

/** Compare-and-swap on an entry's text. The same text again says only that this process lives. */
export interface CronDefinition {
  /** As it is known to stand; null: there is no such entry. */
  old: string | null
  text: string
  /** Where a new entry begins, or one that is changed: not before what is decided. null: it goes on where it was. */
  tick: number | null
}

/** One decision about an entry that still stands as it was read. */
export interface CronTick {
  text: string
  from: number
  /** The tick that is decided. The same as `from`: the job is pushed out of turn, also while the entry is paused. */
  to: number
  /** null: the tick is passed over. With a `lock`, only if nobody has it; then this job does. */
  push: { jid: string; item: PushItem; lock?: string } | null
}

/** `gone`: another one was faster, or the entry is paused, changed or removed. A holder: the lock is not free. */
export type CronTickAnswer = 'ok' | 'gone' | { holder: string }

export interface CronStore {
  /** All entries in the order of their names, or those of some. */
  list(names?: readonly string[]): Promise<CronRecord[]>
  /**
   * Says how a process defines an entry, and that it lives for the next `seconds` (of the store's clock). False: the
   * entry stands otherwise than was known, and nothing has changed.
   */
  define(name: string, definition: CronDefinition, seconds: number): Promise<boolean>
  /**
   * Decides a tick and pushes its job, in one step: of any number of callers one does it. After a crash or a lost answer
   * both have happened or neither.
   * @throws as `push` does, and then nothing has changed or (`maybePushed`) it is not known
   */
  tick(name: string, tick: CronTick, now: number): Promise<CronTickAnswer>
  /** What was due in a pause is not made good: an entry that goes on does so from `now`. False: no such entry. */
  pause(name: string, paused: boolean, now: number): Promise<boolean>
  /** False: no such entry. */
  remove(name: string): Promise<boolean>
  /** Frees a lock, if `holder` has it. */
  unlock(lock: string, holder: string): Promise<void>
}
