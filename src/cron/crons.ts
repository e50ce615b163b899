/** `hq.cron` and `hq.crons`: defines, inspects and changes cron entries. */

import type { AppPort } from '../app/port.ts'
import type { Job } from '../client/job.ts'
import { uniqueConflict } from '../client/refused-push.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { newJid } from '../job/payload.ts'
import type { CronRecord, CronRunState } from '../store/contract.ts'
import {
  type CronOptions,
  type Entry,
  entryOf,
  type Missed,
  type Overlap,
  type Runnable,
  readSchedule,
  readShown,
  refuseUniqueEntry,
} from './entry.ts'
import { isRunGone, lockOf, requestOf, runOf } from './run.ts'

/** A job that was pushed for an entry, with its state and times. */
export interface CronRunInfo {
  jid: string
  /** Its tick; null when it was pushed by `runNow`. */
  tick: Date | null
  pushedAt: Date
  /**
   * `retrying`: the last attempt failed, and the job runs again. `failed`: a business failure, or discarded. A job that
   * another program runs, or moves to another store, stays as it was.
   */
  state: CronRunState
  /** When its last attempt started; null before the first. */
  startedAt: Date | null
  /** When its last attempt ended; null while it waits for its first attempt or runs. */
  endedAt: Date | null
}

/** A cron entry as the store keeps it. */
export interface CronInfo {
  name: string
  spec: string
  timeZone: string
  job: string
  /** The queue of the entry; null when the job's own queue is used. */
  queue: string | null
  /** The arguments of the job; null when a function of its app returns them. */
  args: unknown[] | null
  missed: Missed
  overlap: Overlap
  paused: boolean
  /** Whether a live process defines the entry; otherwise it does not run. */
  defined: boolean
  /** The time and the id of the last job that was pushed for the entry. */
  lastAt: Date | null
  lastJid: string | null
  /** The newest 20 jobs that were pushed for the entry, newest first. */
  runs: CronRunInfo[]
  /** The next tick; null when the entry is paused or no live process defines it. */
  nextAt: Date | null
  /** Returns the next `n` ticks (default 1), as if the entry were not paused. */
  next(n?: number): Date[]
}

/** A definition stored outside a worker is valid for this many seconds, unless a worker of the app renews it. */
const FIRST_SECONDS = 60
/** `runNow` is attempted this often, because a tick may come between. */
const TRIES = 10

export class Crons {
  /** Whether an entry replaces the one of the same name (`Highkiq.once`). */
  canReplace = false
  /** The entries of this app. */
  readonly entries = new Map<string, Entry>()
  readonly #app: AppPort

  constructor(app: AppPort) {
    this.#app = app
  }

  /** Defines an entry of this app. @throws INVALID_OPTION, INVALID_ARGS, DUPLICATE_JOB */
  define(name: string, spec: string, job: Job<unknown[]>, options: CronOptions): Cron {
    const entry = entryOf(name, spec, job, options, this.#app)
    if (this.entries.has(name) && !this.canReplace) {
      throw new HighkiqError('DUPLICATE_JOB', `a cron entry named ${name} is defined already`)
    }
    this.#checkJob(`cron ${name}`, job)
    const { args } = entry
    if (Array.isArray(args)) this.#app.client.writer.check({ class: job.name, args, jid: '' })
    this.entries.set(name, entry)
    return this.get(name)
  }

  /** @throws INVALID_OPTION for a job that an entry can't push */
  #checkJob(where: string, job: Job<unknown[]>): void {
    const request = job.request([])
    if (request.track ?? job.definition.options.track) {
      throw invalidOption(
        `${where}: ${job.name} is tracked, and a job of a cron entry can't be: give ${job.name}.set({ track: false }), or create a task in its handler`,
      )
    }
    const conflict = this.#app.client.conflict(request)
    if (conflict === 'drop' || conflict === 'raise') return
    throw invalidOption(
      `${where}: onConflict of ${job.name} must be 'drop' or 'raise' (got '${conflict}'): a tick is skipped while another job has its lock, and changes no job`,
    )
  }

  get(name: string): Cron {
    return new Cron(this.#app, name, this.entries)
  }

  async *list(): AsyncGenerator<CronInfo> {
    for (const record of await this.#app.store.crons.list()) yield infoOf(record, this.#app.now())
  }
}

/** Inspects and changes one entry, for all processes. */
export class Cron {
  readonly name: string
  readonly #app: AppPort
  readonly #entries: Map<string, Entry>

  constructor(app: AppPort, name: string, entries: Map<string, Entry>) {
    this.#app = app
    this.name = name
    this.#entries = entries
  }

  /** null: no worker has entered it yet, or it was removed. */
  async info(): Promise<CronInfo | null> {
    const [record] = await this.#app.store.crons.list([this.name])
    return record ? infoOf(record, this.#app.now()) : null
  }

  /** Resolves with the same as `info`. @throws UNKNOWN_CRON */
  async known(): Promise<CronInfo> {
    const info = await this.info()
    if (info) return info
    throw this.#unknown()
  }

  /** Pauses the entry until `resume`, also after deploys. @throws UNKNOWN_CRON */
  async pause(): Promise<void> {
    await this.#record()
    await this.#app.store.crons.pause(this.name, true, this.#app.now())
  }

  /** Resumes the entry from now; ticks during the pause do not run. @throws UNKNOWN_CRON */
  async resume(): Promise<void> {
    await this.#record()
    await this.#app.store.crons.pause(this.name, false, this.#app.now())
  }

  /**
   * Pushes the job of the entry now, also while the entry is paused. Its ticks do not change.
   * @returns the job's id; of a unique job the id of the job that has its lock; null when client middleware stopped it
   * @throws UNKNOWN_CRON; UNIQUE_CONFLICT with `onConflict: 'raise'`; INVALID_OPTION for a unique job that another app defines; CRON_BUSY with `overlap: 'skip'` while the last run has not ended; errors of a push
   */
  async runNow(): Promise<string | null> {
    const { client, now } = this.#app
    const jid = newJid()
    const own = this.#entries.get(this.name)
    // A test mode takes the job as a push, and has no locks of entries.
    if (own && client.testing.current) return client.push(await requestOf(own, now(), jid))
    const store = this.#app.store
    if (own) refuseUniqueEntry(own, store)
    for (let tries = 0; tries < TRIES; tries++) {
      const { text, tick, pushedAt } = await this.#record()
      const run = own ?? this.#asShown(text)
      const push = await runOf(client, run, now(), jid, now())
      if (!push) return null
      const answer = await store.crons.tick(this.name, { text, from: tick, to: tick, push }, now())
      if (answer === 'ok') return push.jid
      if (answer !== 'gone') {
        const request = run.request([])
        if (answer.isUnique && client.conflict(request) === 'raise') throw uniqueConflict(request.class, answer.holder)
        if (answer.isUnique) return answer.holder
        if (!(await isRunGone(this.#app, answer.holder, pushedAt ?? 0))) {
          throw new HighkiqError('CRON_BUSY', `cron ${this.name}: its last run has not ended (job ${answer.holder})`, {
            jid: answer.holder,
          })
        }
        await store.crons.releaseLock(lockOf(this.name), answer.holder)
      }
    }
    throw new HighkiqError('CRON_BUSY', `cron ${this.name} is being changed all the time: try again`)
  }

  /**
   * Removes the entry from this app and from the store. A worker of another process that defines it stores it again as
   * a new entry.
   */
  async remove(): Promise<void> {
    this.#entries.delete(this.name)
    await this.#app.store.crons.remove(this.name)
  }

  /** Resolves with the stored entry. An entry of this app that no worker has stored yet is stored now. */
  async #record(): Promise<CronRecord> {
    const store = this.#app.store
    const entry = this.#entries.get(this.name)
    let [record] = await store.crons.list([this.name])
    if (!record && entry) {
      await store.crons.define(this.name, { old: null, text: entry.text, tick: this.#app.now() }, FIRST_SECONDS)
      ;[record] = await store.crons.list([this.name])
    }
    if (record) return record
    throw this.#unknown()
  }

  #unknown(): HighkiqError {
    const message = `no cron entry is named ${JSON.stringify(this.name)}: a worker adds those of its app when it starts`
    return new HighkiqError('UNKNOWN_CRON', message)
  }

  /** Reads the entry of another app from its stored definition. */
  #asShown(text: string): Runnable {
    const shown = readShown(text)
    if (!shown?.args) {
      throw invalidOption(
        `cron ${this.name}: its arguments are made by the app that defines it: run it there (-r FILE)`,
        { problem: 'made-arguments' },
      )
    }
    if (shown.unique) {
      throw invalidOption(
        `cron ${this.name}: ${shown.job} is unique, and only the app that defines it knows its lock: run it there (-r FILE)`,
        { problem: 'unknown-lock', job: shown.job },
      )
    }
    return { name: this.name, args: shown.args, request: (args) => ({ class: shown.job, args }), shown }
  }
}

function infoOf({ name, text, tick, paused, alive, jid, pushedAt, runs }: CronRecord, now: number): CronInfo {
  const shown = readShown(text)
  const schedule = shown && readSchedule(shown)
  const next = (n = 1) => {
    const ticks: Date[] = []
    for (let at: number | null = Math.max(tick, now); schedule && ticks.length < n; ) {
      at = schedule.next(at)
      if (at === null) break
      ticks.push(new Date(at))
    }
    return ticks
  }
  return {
    name,
    spec: shown?.spec ?? '',
    timeZone: shown?.timeZone ?? '',
    job: shown?.job ?? '',
    queue: shown?.queue ?? null,
    args: shown?.args ?? null,
    missed: shown?.missed ?? 'once',
    overlap: shown?.overlap ?? 'allow',
    paused,
    defined: alive,
    lastAt: dateOf(pushedAt),
    lastJid: jid,
    runs: runs.map((run) => ({
      ...{ jid: run.jid, state: run.state, pushedAt: new Date(run.pushedAt) },
      ...{ tick: dateOf(run.tick), startedAt: dateOf(run.startedAt), endedAt: dateOf(run.endedAt) },
    })),
    nextAt: paused || !alive ? null : (next()[0] ?? null),
    next,
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
