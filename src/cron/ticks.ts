/** Decides which ticks of a cron entry are due, which were missed, and which runs overlap. */

import type { AppPort } from '../app/port.ts'
import type { CronRecord } from '../store/contract.ts'
import type { Entry, Missed } from './entry.ts'
import { isRunGone, lockOf, runOf, tickJid } from './run.ts'
import type { Schedule } from './schedule.ts'

/** Only a tick that is older than this counts as missed. */
const LATE_MS = 60_000
/** With `missed: 'all'` at most this many missed ticks run. */
const MOST_MISSED = 1000
/** A last tick further ahead of the clock than this shows that a clock was wrong. */
const FAR_AHEAD_MS = 86_400_000
/** A tick whose job can't be made for this long is skipped, if a newer one is due. */
const GIVE_UP_MS = 600_000
/** The largest part of the time that searches may take. */
const SEARCH_SHARE = 0.01

export class Ticks {
  readonly #app: AppPort
  readonly #isStopped: () => boolean
  /** When the holder of an entry's lock may be searched for again, on the monotonic clock, by entry. */
  readonly #searchOn = new Map<string, number>()
  /** The tick whose job can't be made, and since when, by entry. */
  readonly #failing = new Map<string, { tick: number; since: number }>()

  constructor(app: AppPort, isStopped: () => boolean) {
    this.#app = app
    this.#isStopped = isStopped
  }

  /**
   * Decides all ticks that are due by a schedule. Resolves with the time, by the app's clock, at which the entry must be
   * checked again: not later than `until` when not all ticks were decided.
   */
  async decide(
    record: CronRecord,
    schedule: Schedule,
    missed: Missed,
    entry: Entry,
    until = this.#app.now(),
  ): Promise<number> {
    const { log } = this.#app
    const { name } = record
    if (record.tick > until + FAR_AHEAD_MS) return this.#startOver(record)
    const oldest = schedule.next(record.tick)
    if (oldest === null || oldest > until) return oldest ?? Number.POSITIVE_INFINITY
    if (record.paused) {
      // Workers skip the ticks of a pause by their own clocks, so that none runs whatever clock ends the pause.
      const isSkipped = await this.#tick(record, record.tick, until, undefined, false)
      return isSkipped ? (schedule.next(until) ?? Number.POSITIVE_INFINITY) : until
    }
    const due = schedule.ticks(record.tick, until, missed === 'all' ? MOST_MISSED : 1)
    const [first = oldest] = due
    let from = record.tick
    for (const tick of due) {
      if (this.#isStopped()) return until
      const isMissed = missed === 'skip' && until - tick > LATE_MS
      // Another process decides this tick, or the entry was changed.
      if (!(await this.#tick(record, from, tick, isMissed ? undefined : entry, tick !== due.at(-1)))) return until
      const about = { cron: name, tick: new Date(tick), since: new Date(oldest) }
      if (isMissed) {
        log.warn(about, `cron ${name}: this tick was missed, and is skipped`)
      } else if (tick === first && oldest < first) {
        const outcome = missed === 'once' ? 'and this run replaces them' : 'and are skipped'
        log.warn(about, `cron ${name}: ticks before this one were missed, ${outcome}`)
      }
      from = tick
    }
    return schedule.next(from) ?? Number.POSITIVE_INFINITY
  }

  /** Decides one tick; without an entry it is skipped. Resolves with false when another process has decided it. */
  async #tick(
    { name, text, pushedAt }: CronRecord,
    from: number,
    to: number,
    entry: Entry | undefined,
    hasNewer: boolean,
  ): Promise<boolean> {
    const { store, now, log } = this.#app
    const about = { cron: name, tick: new Date(to) }
    const push = entry ? await this.#pushOf(entry, to, hasNewer) : null
    const answer = await store.crons.tick(name, { text, from, to, push }, now())
    if (answer === 'ok' && push) log.debug({ ...about, jid: push.jid }, 'pushed')
    if (answer === 'ok' || answer === 'gone') return answer === 'ok'

    const { holder, isUnique } = answer
    const isGone = !isUnique && (await this.#isGone(name, holder, pushedAt ?? 0))
    if (isGone) {
      log.warn(
        { ...about, jid: holder },
        `cron ${name}: the job of its last run has ended or was deleted and kept its lock: the lock is released`,
      )
      await store.crons.releaseLock(lockOf(name), holder)
    } else {
      const why = isUnique ? `job ${holder} has the lock of its unique job` : 'its last run has not ended'
      log.info({ ...about, jid: holder }, `cron ${name}: skipped, because ${why}`)
    }
    return (await store.crons.tick(name, { text, from, to, push: isGone ? push : null }, now())) === 'ok'
  }

  /** Returns the push of a tick; null when it is skipped. @throws what the function of its arguments throws, errors of a push */
  async #pushOf(entry: Entry, tick: number, hasNewer: boolean): ReturnType<typeof runOf> {
    const { client, now, hooks } = this.#app
    const { name } = entry
    try {
      const push = await runOf(client, entry, tick, tickJid(name, tick), now())
      this.#failing.delete(name)
      return push
    } catch (thrown) {
      const failing = this.#failing.get(name)
      const since = failing?.tick === tick ? failing.since : now()
      this.#failing.set(name, { tick, since })
      if (!hasNewer || now() - since < GIVE_UP_MS) throw thrown
      hooks.report(thrown, {
        during: `cron ${name}; this tick is skipped, because newer ones wait`,
        tick: new Date(tick),
      })
      return null
    }
  }

  /** Returns what `isRunGone` returns, or false while searches for this entry have taken too much time. */
  async #isGone(name: string, jid: string, since: number): Promise<boolean> {
    const began = performance.now()
    if (began < (this.#searchOn.get(name) ?? 0)) return false
    const isGone = await isRunGone(this.#app, jid, since)
    const took = performance.now() - began
    this.#searchOn.set(name, performance.now() + took / SEARCH_SHARE)
    return isGone
  }

  /**
   * Handles a last tick that is far ahead. If the clock of a live process is that far ahead, either clock may be wrong,
   * and nothing changes. Otherwise the clocks were set back: the entry starts over from now.
   */
  async #startOver({ name, text, tick: from }: CronRecord): Promise<number> {
    const { store, now, log } = this.#app
    const about = { cron: name, lastTick: new Date(from), now: new Date(now()) }
    const processes = await store.workers.processes()
    if (processes.some(({ beat }) => beat > from - FAR_AHEAD_MS)) {
      log.error(about, `cron ${name}: the clocks of two processes differ by more than a day: correct the wrong one`)
      return Number.POSITIVE_INFINITY
    }
    log.warn(about, `cron ${name}: its last tick is far ahead of all clocks, so the entry starts over from now`)
    await store.crons.tick(name, { text, from, to: now(), push: null }, now())
    return now()
  }
}
