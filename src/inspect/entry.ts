import type { AppPort } from '../app/port.ts'
import { isProgress, type Progress } from '../job/context.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { invalidOption, storeRefused } from '../job/errors.ts'
import { KIND } from '../job/instance-of.ts'
import { checkOptions } from '../job/options.ts'
import type { Entry, SetName, Swap } from '../store/contract.ts'
import { addedToQueue, changed, deleted, isOver, killed, notifyDeath, notifyOver } from './actions.ts'
import { trimDead } from './dead-set.ts'
import { JobRecord } from './record.ts'

export interface KillOptions {
  /** Whether to call the death handlers. */
  notify?: boolean
  /** The error that they receive; by default an error with the message "Job killed by API". */
  error?: unknown
}

/**
 * A job in a job set. Each action applies only to this unchanged entry. It resolves with false if the entry changed or
 * was removed meanwhile.
 */
export class SetEntry extends JobRecord {
  static override readonly [KIND] = 'entry'
  readonly set: SetName
  /** The time when it is due, or when it died or finished, in seconds since the epoch. */
  readonly score: number
  readonly #app: AppPort

  constructor(app: AppPort, set: SetName, { text, score }: Entry) {
    super(text, { now: () => app.now() })
    this.#app = app
    this.set = set
    this.score = score
  }

  get at(): Date {
    return new Date(this.score * 1000)
  }

  /** When the attempt began that finished the job; null for a job that has not finished. */
  get startedAt(): Date | null {
    const { hk_started: ms } = this.payload
    return typeof ms === 'number' ? new Date(ms) : null
  }

  /** The result of a finished job; undefined when it has none, or one of more than 16 kB. */
  get result(): unknown {
    return this.payload.hk_result
  }

  /** The last progress of a finished job; undefined when its handler has reported none. */
  get progress(): Progress | undefined {
    const { hk_progress: progress } = this.payload
    return isProgress(progress) ? progress : undefined
  }

  /** Moves it to its queue now and lowers its `retry_count` by one. @throws INVALID_JOB; errors of client middleware */
  async retry(): Promise<boolean> {
    return this.#swap(await addedToQueue(this.#app, this.set, this, true))
  }

  /** Moves it to its queue now with its `retry_count` unchanged. @throws INVALID_JOB; errors of client middleware */
  async addToQueue(): Promise<boolean> {
    return this.#swap(await addedToQueue(this.#app, this.set, this, false))
  }

  /** Moves it to the dead set and calls the death handlers. @throws INVALID_OPTION if it is dead already or has finished */
  async kill(options: KillOptions = {}): Promise<boolean> {
    checkOptions('entry.kill', options, { notify: 'flag', error: null })
    const { notify = true, error } = options
    refuseEnded(this.set)
    if (!(await this.#swap(killed(this.#app, this)))) return false
    await notifyOver(this.#app, this.text, 'killed')
    if (notify) await notifyDeath(this.#app, this.text, error)
    await trimDead(this.#app)
    return true
  }

  async delete(): Promise<boolean> {
    const gone = await this.#swap(deleted(this.#app, this.set, this))
    // The outcome of a job that has ended is already stored, and stays.
    if (gone && !isOver(this.set)) await notifyOver(this.#app, this.text, 'deleted')
    return gone
  }

  /**
   * Reschedules it.
   * @param at a Date, `'5m'`, `{ minutes: 5 }`, or seconds: below 1e9 from now, otherwise since the epoch
   * @throws INVALID_OPTION
   */
  async reschedule(at: Date | number | Duration): Promise<boolean> {
    const { text, score, set } = this
    const due = dueAt(at, this.#app.now())
    return this.#swap({ text, score, to: { to: set, text, score: due }, ...changed(this.#app, set, text, due) })
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), at: this.at }
  }

  async #swap(swap: Swap): Promise<boolean> {
    const [answer] = await this.#app.store.jobSets.swap(this.set, [swap], this.#app.now())
    if (answer !== 'error') return answer === 'ok'
    throw storeRefused(`move job ${this.jid}`)
  }
}

export function refuseEnded(set: SetName): void {
  if (set === 'dead') throw invalidOption('kill: the job is in the dead set already')
  if (set === 'finished') throw invalidOption('kill: the job has finished: delete it instead')
}
