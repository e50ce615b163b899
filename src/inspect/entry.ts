import type { AppPort } from '../app/port.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { HighkiqError } from '../job/errors.ts'
import type { Entry, SetName, Swap } from '../store/contract.ts'
import { deleted, killed, notifyDeath, notifyOver, requeued, trimDead } from './actions.ts'
import { JobRecord } from './record.ts'

export interface KillOptions {
  /** Whether death handlers hear of it. */
  notify?: boolean
  /** What they are told; by default an error "Job killed by API". */
  error?: unknown
}

/**
 * A job in one of the sets. Whatever is done, is done to exactly this entry, and only while it stands there as it was
 * read: false tells that somebody else was faster.
 */
export class SetEntry extends JobRecord {
  readonly set: SetName
  /** Seconds since the epoch: when it is due, or when it died. */
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

  /** To its queue now; the retry is taken off its count. @throws INVALID_JOB; what client middleware throws */
  async retry(): Promise<boolean> {
    return this.#swap(await requeued(this.#app, this, true))
  }

  /** To its queue now, as it is. @throws INVALID_JOB; what client middleware throws */
  async addToQueue(): Promise<boolean> {
    return this.#swap(await requeued(this.#app, this, false))
  }

  /** Into the dead set; death handlers hear of it. @throws INVALID_OPTION: it is dead already */
  async kill({ notify = true, error }: KillOptions = {}): Promise<boolean> {
    refuseDead(this.set)
    if (!(await this.#swap(killed(this.#app, this)))) return false
    await notifyOver(this.#app, this.text, 'killed')
    if (notify) await notifyDeath(this.#app, this.text, error)
    await trimDead(this.#app)
    return true
  }

  async delete(): Promise<boolean> {
    const gone = await this.#swap(deleted(this.#app, this.set, this))
    // Of what is dead the outcome is known, and stays.
    if (gone && this.set !== 'dead') await notifyOver(this.#app, this.text, 'deleted')
    return gone
  }

  /** To another time: a Date, `'5m'`, `{ minutes: 5 }`, or seconds (below 1e9 from now). @throws INVALID_OPTION */
  async reschedule(at: Date | number | Duration): Promise<boolean> {
    const { text, score, set } = this
    return this.#swap({ text, score, to: { to: set, text, score: dueAt(at, this.#app.now()) } })
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), at: this.at }
  }

  async #swap(swap: Swap): Promise<boolean> {
    const [answer] = await this.#app.store.jobSets.swap(this.set, [swap], this.#app.now())
    if (answer !== 'error') return answer === 'ok'
    throw new HighkiqError('STORE_UNUSABLE', `the store can't move job ${this.jid}: does a key hold something else?`)
  }
}

export function refuseDead(set: SetName): void {
  if (set === 'dead') throw new HighkiqError('INVALID_OPTION', 'what is in the dead set is dead already')
}
