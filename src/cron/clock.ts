/**
 * Runs cron entries. Every worker has a CronClock and none leads: each checks its own clock, and the store lets one of
 * them decide a due tick.
 */

import type { AppPort } from '../app/port.ts'
import { within } from '../job/wait.ts'
import type { CronRecord } from '../store/contract.ts'
import { Periodic } from '../worker/background-service.ts'
import { type Entry, readSchedule, readShown, refuseUniqueEntry } from './entry.ts'
import { Ticks } from './ticks.ts'

/** A definition is valid for this many leases. Its process renews it three times within that. */
const LEASES = 4
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000
const STOP_MS = 3000

/**
 * The state of an entry in this process. `nextCheckAt` is by the app's clock; the other times are by the monotonic
 * clock.
 */
interface State {
  readonly entry: Entry
  /** Whether the stored definition is that of this process; otherwise another process has changed it. */
  isCurrent: boolean
  /** Whether the stored definition has been that of this process before. */
  wasCurrent: boolean
  defineAt: number
  /** When to check the entry again. */
  nextCheckAt: number
  busy: boolean
  /** Failures in a row. */
  failures: number
  pausedUntil: number
}

export class CronClock extends Periodic {
  readonly #app: AppPort
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #pollMs: number
  readonly #lifeSeconds: number
  readonly #ticks: Ticks
  readonly #states = new Map<string, State>()
  readonly #running = new Set<Promise<void>>()

  /**
   * `entries` are those of the app; it may add to them later. `pollSeconds` is the longest time between two checks of
   * the app's clock.
   */
  constructor(
    app: AppPort,
    entries: ReadonlyMap<string, Entry>,
    { pollSeconds, leaseSeconds }: { pollSeconds: number; leaseSeconds: number },
  ) {
    super((error, about) => app.hooks.report(error, about), { during: 'cron', everyMs: pollSeconds * 1000 })
    this.#app = app
    this.#entries = entries
    this.#pollMs = pollSeconds * 1000
    this.#lifeSeconds = leaseSeconds * LEASES
    this.#ticks = new Ticks(app, () => this.isStopping)
  }

  override async stop(): Promise<void> {
    await super.stop()
    await within(STOP_MS, Promise.all(this.#running))
  }

  protected override async run(): Promise<void> {
    this.#followEntries()
    const now = this.#app.now()
    // Clocks are changed and machines sleep, so the clock is checked again and again: there is no wait for the tick.
    let wait = this.#pollMs
    for (const state of this.#states.values()) {
      const { busy, pausedUntil, defineAt, isCurrent, nextCheckAt } = state
      if (busy || performance.now() < pausedUntil) continue
      if (performance.now() >= defineAt || (isCurrent && now >= nextCheckAt)) this.#begin(state)
      else if (isCurrent) wait = Math.min(wait, nextCheckAt - now)
    }
    this.runWithin(Math.max(wait, 1))
  }

  #followEntries(): void {
    for (const name of this.#states.keys()) if (!this.#entries.has(name)) this.#states.delete(name)
    for (const [name, entry] of this.#entries) {
      if (this.#states.get(name)?.entry === entry) continue
      const times = { defineAt: 0, nextCheckAt: 0, pausedUntil: 0 }
      this.#states.set(name, { entry, isCurrent: false, wasCurrent: false, busy: false, failures: 0, ...times })
    }
  }

  #begin(state: State): void {
    state.busy = true
    const processing = this.#process(state)
      .then(() => {
        state.failures = 0
      })
      .catch((thrown) => {
        const ms = Math.min(FIRST_PAUSE_MS * 2 ** state.failures++, LONGEST_PAUSE_MS)
        state.pausedUntil = performance.now() + ms
        this.#app.hooks.report(thrown, { during: `cron ${state.entry.name}`, again: `in ${ms / 1000} s` })
      })
      .finally(() => {
        state.busy = false
        this.#running.delete(processing)
        this.runWithin(0)
      })
    this.#running.add(processing)
  }

  async #process(state: State): Promise<void> {
    if (performance.now() >= state.defineAt) await this.#define(state)
    if (state.isCurrent && !this.isStopping) await this.#decideTicks(state)
  }

  /** Stores the definition of this process. The last process to define an entry wins while it is alive. */
  async #define(state: State): Promise<void> {
    const { store, now, log } = this.#app
    const { entry, wasCurrent } = state
    refuseUniqueEntry(entry, store)
    const { name, text } = entry
    const [record] = await store.crons.list([name])
    const again = performance.now() + (this.#lifeSeconds * 1000) / 3
    const define = (old: string | null, tick: number | null) =>
      store.crons.define(name, { old, text, tick }, this.#lifeSeconds)
    if (!record) {
      state.isCurrent = await define(null, now())
    } else if (record.text === text) {
      state.isCurrent = await define(text, null)
    } else if (!wasCurrent || !record.alive) {
      const end = await this.#endPrevious(record, entry)
      state.isCurrent = end !== undefined && (await define(record.text, end))
    } else {
      if (state.isCurrent)
        log.warn(
          { cron: name },
          `cron ${name}: another process has defined it differently, and that definition is used`,
        )
      state.isCurrent = false
      state.defineAt = again
      return
    }
    // If another process changed it at the same moment, the next round defines it again.
    if (!state.isCurrent) return
    state.wasCurrent = true
    state.defineAt = again
  }

  /**
   * Ends the previous definition: decides the ticks it still owes by its own rule. Returns the time at which the new
   * definition begins; null keeps the time of the old one, for the same schedule. Returns undefined while another
   * process decides these ticks.
   */
  async #endPrevious(record: CronRecord, entry: Entry): Promise<number | null | undefined> {
    const shown = readShown(record.text)
    const { spec, timeZone } = entry.shown
    if (shown?.spec === spec && shown.timeZone === timeZone) return null
    const schedule = shown && readSchedule(shown)
    // The new definition begins where the old one ends, so that no tick is lost in between.
    const now = this.#app.now()
    const isOver = async () => !schedule || (await this.#ticks.decide(record, schedule, shown.missed, entry, now)) > now
    return (await isOver()) ? now : undefined
  }

  async #decideTicks(state: State): Promise<void> {
    const { store } = this.#app
    const { entry } = state
    const [record] = await store.crons.list([entry.name])
    if (record?.text !== entry.text) {
      state.isCurrent = false
      // An entry that was removed is defined again.
      if (!record) state.defineAt = 0
    } else {
      state.nextCheckAt = await this.#ticks.decide(record, entry.schedule, entry.shown.missed, entry)
    }
  }
}
