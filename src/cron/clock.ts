/**
 * What makes cron entries run. Every worker has one and none leads: each looks at its own clock, and of all that find a
 * tick due the store lets one decide it.
 */

import { within } from '../job/wait.ts'
import type { CronRecord } from '../store/contract.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import { type Entry, readSchedule, readShown } from './entry.ts'
import { type TickHost, Ticks } from './ticks.ts'

/** Whoever defines an entry says so, and is believed to live for so many leases; he says it again three times in it. */
const LEASES = 4
const FIRST_REST_MS = 1000
const LONGEST_REST_MS = 60_000
const STOP_MS = 3000

/** What this process knows of an entry. `lookAt` is of the app's clock, what ends in `On` of the monotonic one. */
interface State {
  readonly entry: Entry
  /** The entry is defined as it is here; else others have said otherwise. */
  stands: boolean
  /** It has stood so before. */
  stood: boolean
  saysOn: number
  /** It is not worth looking sooner. */
  lookAt: number
  busy: boolean
  /** In a row. */
  failures: number
  restsOn: number
}

export class CronClock implements BackgroundService {
  readonly #host: TickHost
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #pollMs: number
  readonly #lifeSeconds: number
  readonly #ticks: Ticks
  readonly #states = new Map<string, State>()
  readonly #underWay = new Set<Promise<void>>()
  #stopped = false
  #wakeUp = () => {}
  #loop: Promise<void> | undefined

  /** `entries`: those of the app, also ones that it defines later. `pollSeconds`: between looks at the app's clock. */
  constructor(
    host: TickHost,
    entries: ReadonlyMap<string, Entry>,
    { pollSeconds, leaseSeconds }: { pollSeconds: number; leaseSeconds: number },
  ) {
    this.#host = host
    this.#entries = entries
    this.#pollMs = pollSeconds * 1000
    this.#lifeSeconds = leaseSeconds * LEASES
    this.#ticks = new Ticks(host, () => this.#stopped)
  }

  start(): void {
    this.#loop = this.#run()
  }

  quiet(): void {
    this.#stopped = true
    this.#wakeUp()
  }

  async stop(): Promise<void> {
    this.quiet()
    await within(STOP_MS, Promise.all([this.#loop, ...this.#underWay]))
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#followEntries()
      const now = this.#host.now()
      let wait = this.#pollMs
      for (const state of this.#states.values()) {
        const { busy, restsOn, saysOn, stands, lookAt } = state
        if (busy || performance.now() < restsOn) continue
        if (performance.now() >= saysOn || (stands && now >= lookAt)) this.#begin(state)
        else if (stands) wait = Math.min(wait, lookAt - now)
      }
      // Clocks are set, and machines sleep: so it does not wait for the tick, but looks at the clock until it has come.
      await this.#wait(Math.max(wait, 1))
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #followEntries(): void {
    for (const name of this.#states.keys()) if (!this.#entries.has(name)) this.#states.delete(name)
    for (const [name, entry] of this.#entries) {
      if (this.#states.get(name)?.entry === entry) continue
      const never = { stands: false, stood: false, saysOn: 0, lookAt: 0, busy: false, failures: 0, restsOn: 0 }
      this.#states.set(name, { entry, ...never })
    }
  }

  #begin(state: State): void {
    state.busy = true
    const attending = this.#attend(state)
      .then(() => {
        state.failures = 0
      })
      .catch((thrown) => {
        const ms = Math.min(FIRST_REST_MS * 2 ** state.failures++, LONGEST_REST_MS)
        state.restsOn = performance.now() + ms
        this.#host.report(thrown, { during: `cron ${state.entry.name}`, again: `in ${ms / 1000} s` })
      })
      .finally(() => {
        state.busy = false
        this.#underWay.delete(attending)
        this.#wakeUp()
      })
    this.#underWay.add(attending)
  }

  async #attend(state: State): Promise<void> {
    if (performance.now() >= state.saysOn) await this.#say(state)
    if (state.stands && !this.#stopped) await this.#look(state)
  }

  /** The last one to say how an entry is defined has the word; and whoever lives, when nobody else does who said so. */
  async #say(state: State): Promise<void> {
    const { store, now, log } = this.#host
    const { entry, stood } = state
    const { name, text } = entry
    const [record] = await store.crons.list([name])
    const again = performance.now() + (this.#lifeSeconds * 1000) / 3
    const define = (old: string | null, tick: number | null) =>
      store.crons.define(name, { old, text, tick }, this.#lifeSeconds)
    if (!record) {
      state.stands = await define(null, now())
    } else if (record.text === text) {
      state.stands = await define(text, null)
    } else if (!stood || !record.alive) {
      const end = await this.#endOf(record, entry)
      state.stands = end !== undefined && (await define(record.text, end))
    } else {
      if (state.stands)
        log.warn({ cron: name }, `cron ${name}: another process defines it differently, and has the word`)
      state.stands = false
      state.saysOn = again
      return
    }
    // If it was changed in this very moment, it is said again at once.
    if (!state.stands) return
    state.stood = true
    state.saysOn = again
  }

  /**
   * The definition before this one ends: what it still owed is made good by its own rule. Answers where this one begins:
   * another schedule now, the same one where it was (null). Undefined: somebody else is at what is owed.
   */
  async #endOf(record: CronRecord, entry: Entry): Promise<number | null | undefined> {
    const shown = readShown(record.text)
    const { spec, timeZone } = entry.shown
    if (shown?.spec === spec && shown.timeZone === timeZone) return null
    const schedule = shown && readSchedule(shown)
    // This one begins where that one ends: what comes due in between would be nobody's.
    const now = this.#host.now()
    const isOver = async () => !schedule || (await this.#ticks.decide(record, schedule, shown.missed, entry, now)) > now
    return record.paused || (await isOver()) ? now : undefined
  }

  async #look(state: State): Promise<void> {
    const { store, now } = this.#host
    const { entry } = state
    const [record] = await store.crons.list([entry.name])
    if (record?.text !== entry.text) {
      state.stands = false
      // One that was removed is entered again.
      if (!record) state.saysOn = 0
    } else if (record.paused) {
      state.lookAt = entry.schedule.next(now()) ?? Number.POSITIVE_INFINITY
    } else {
      state.lookAt = await this.#ticks.decide(record, entry.schedule, entry.shown.missed, entry)
    }
  }
}
