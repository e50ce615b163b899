/** Cron entries: jobs that are pushed at times of a schedule. */

import type { CronRunState } from './effects.ts'
import type { PushItem } from './push-items.ts'

/** A cron entry as it is stored. All times are milliseconds of the callers' clocks. */
export interface CronRecord {
  name: string
  /** How an app defines the entry: JSON text, opaque to the store. */
  text: string
  /** All ticks up to this time are decided. */
  tick: number
  paused: boolean
  /** Whether a living process defines the entry like this. */
  alive: boolean
  /** The last job that was pushed for the entry, and when; null before the first. */
  jid: string | null
  pushedAt: number | null
  /** The newest runs, newest first, at most CRON_RUNS. */
  runs: CronRun[]
}

/** The number of runs that an entry remembers. */
export const CRON_RUNS = 20

/** A job that was pushed for an entry, and how it goes on. All times are milliseconds of the callers' clocks. */
export interface CronRun {
  jid: string
  /** null: it was pushed off schedule. */
  tick: number | null
  pushedAt: number
  /** The state that the last effect on this run had; `waiting` before the first one. */
  state: CronRunState
  /** When the last attempt started; null before the first. */
  startedAt: number | null
  /** When the last attempt, or the run, ended; null while it waits for its first attempt or runs. */
  endedAt: number | null
}

/** Compare-and-swap on an entry's text. The same text again only says that this process is alive. */
export interface CronDefinition {
  /** The entry's text as the caller knows it; null: there is no such entry. */
  old: string | null
  text: string
  /**
   * The time from which a new or changed entry has ticks; it is never earlier than the ticks that are decided. null: the
   * entry keeps its time.
   */
  tick: number | null
}

/** One decision about an entry. It applies only while the entry has this text and this tick. */
export interface CronTick {
  text: string
  from: number
  /** The tick that is decided. If it equals `from`, the job is pushed off schedule, also during a pause. */
  to: number
  /**
   * null: the tick is skipped; this is allowed during a pause. With a `lock`, the job is pushed only if the lock is free, and
   * holds it from then on. The same is true of the locks of a unique item.
   */
  push: { jid: string; item: PushItem; lock?: string } | null
}

/**
 * `gone`: another process was faster, the entry was changed or removed, or the entry is paused and the step would push its
 * job. `holder`: the job that holds the lock, or with `isUnique` a lock of the unique item; then nothing has changed.
 */
export type CronTickAnswer = 'ok' | 'gone' | { holder: string; isUnique?: true }

export interface CronStore {
  /** Returns the named entries, or all of them, in the order of their names. */
  list(names?: readonly string[]): Promise<CronRecord[]>
  /**
   * Stores how a process defines an entry, and that the process is alive for the next `seconds` (of the store's clock).
   * False: the stored text is not `old`, and nothing has changed. When this machine's clock is ahead of the store's, the
   * store subtracts the difference from `tick`, so that no tick is lost.
   */
  define(name: string, definition: CronDefinition, seconds: number): Promise<boolean>
  /**
   * Decides a tick and pushes its job in one step; of any number of callers one succeeds. After a crash or a lost answer
   * both have happened or neither.
   * @throws as `push` does; then nothing has changed or, with `maybePushed`, it is not known
   */
  tick(name: string, tick: CronTick, now: number): Promise<CronTickAnswer>
  /**
   * Pauses an entry or resumes it. Ticks during the pause are lost: a resumed entry has ticks from `now` on, which the
   * store corrects as it corrects the `tick` of `define`. False: no such entry.
   */
  pause(name: string, paused: boolean, now: number): Promise<boolean>
  /** Removes an entry. Resolves with false when there is none. */
  remove(name: string): Promise<boolean>
  /** Releases a lock if `holder` has it. */
  releaseLock(lock: string, holder: string): Promise<void>
}
