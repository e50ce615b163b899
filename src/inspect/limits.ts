/** `hq.limits`: the limits that are in use, and their numbers, which can be changed without a deploy. */

import type { AppPort } from '../app/port.ts'
import { type Duration, seconds } from '../job/duration.ts'
import { invalidOption } from '../job/errors.ts'
import {
  checkLimitNumbers,
  isStoredName,
  type LimitKind,
  type LimitSettings,
  parseStoredName,
  storedName,
} from '../job/limit.ts'
import { checkOptions, given, type OptionRule, shown } from '../job/options.ts'
import type { Limit, LimitChange, LimitState } from '../store/contract.ts'

/** The numbers of a limit; null: the limit has no such number. */
export interface LimitFigures {
  /** The jobs that run at the same time at most. */
  concurrency: number | null
  /** The jobs that start within `per` seconds at most. */
  rate: number | null
  /** Seconds. */
  per: number | null
  burst: number | null
}

export interface LimitInfo {
  /** The limit without its key, as `hq.limits.set` takes it: `app`, `queue:mail`, `job:Charge`, `job:Charge#2`, `shared:stripe`. */
  id: string
  /** `job`: the limit of one job. `shared`: one of `hq.limit`. `queue`: that of a queue. `app`: that of all jobs. */
  kind: LimitKind
  /** The name of the job, of the limit or of the queue. */
  name: string
  /** The position of a limit among those of its job; 1 for the other kinds. */
  position: number
  /** Null when the limit has no keys. */
  key: string | null
  /** The jobs that run at the same time at most; null without such a limit. */
  concurrency: number | null
  /** The jobs that start within `per` seconds at most; null without such a limit. */
  rate: number | null
  /** Seconds; null without a rate. */
  per: number | null
  burst: number | null
  window: 'fixed' | 'sliding' | null
  /** The jobs that have a slot. */
  used: number
  /** The jobs that wait for room. */
  waiting: number
  /** Seconds until a rate lets one more job start; null without a rate. */
  nextStart: number | null
  /** The numbers that `hq.limits.set` has set; null without any. */
  set: LimitFigures | null
  /** The numbers of the code, when others were set; null also while the limit is not in use. */
  code: LimitFigures | null
}

export interface LimitPageOptions {
  cursor?: string | undefined
  limit?: number | undefined
  id?: string | undefined
}

const PREFIX = 'limit '
const positionOf = (cursor: unknown) => Buffer.from(String(cursor), 'base64url').toString()
const CURSOR: OptionRule = [(cursor) => positionOf(cursor).startsWith(PREFIX), 'the `next` of the page before']

/** The limits in use, and those whose numbers were set. */
export class Limits {
  readonly #app: Pick<AppPort, 'store'>

  constructor(app: Pick<AppPort, 'store'>) {
    this.#app = app
  }

  /** Returns the limits that have used slots or waiting jobs, or whose numbers were set, by name. */
  async list(): Promise<LimitInfo[]> {
    return (await this.#stored()).map(infoOf)
  }

  /**
   * Resolves with a page of the list, or of the keys of the limit `id`; 25 by default. `next` is the `cursor` of the next page.
   * @throws INVALID_OPTION
   */
  async page(options: LimitPageOptions = {}): Promise<{ items: LimitInfo[]; next: string | null }> {
    checkOptions('hq.limits.page', options, { cursor: CURSOR, limit: 'count', id: 'text' })
    const { cursor, limit = 25, id } = options
    const after = cursor === undefined ? '' : positionOf(cursor).slice(PREFIX.length)
    const rest = (await this.#stored()).filter(({ name }) => name > after && (id === undefined || idOf(name) === id))
    const page = rest.slice(0, limit)
    const last = page.at(-1)
    const next = last && rest.length > limit ? Buffer.from(PREFIX + last.name).toString('base64url') : null
    return { items: page.map(infoOf), next }
  }

  async #stored(): Promise<LimitState[]> {
    return (await this.#app.store.limits.list()).filter(({ name }) => isStoredName(name))
  }

  /**
   * Changes numbers of a limit on all workers within seconds, until they are reset: across restarts and deploys. A number that
   * is left out stays as it is, null is that of the code again. A burst needs a rate that is set, too, and no window. A queue, a
   * job and `app` need no limit in the code.
   * @param id `app`, `queue:mail`, `job:Charge`, `job:Charge#2` or `shared:stripe`; a limit with keys has the numbers for each key
   * @throws INVALID_OPTION
   * @example await hq.limits.set('queue:mail', { concurrency: 5 })
   */
  async set(id: string, settings: LimitSettings): Promise<void> {
    const name = storedNameOf(id)
    checkLimitNumbers(`hq.limits.set ${id}`, settings)
    const { concurrency, rate, per, burst } = settings
    if (typeof burst === 'number' && (await this.list()).some((limit) => limit.id === id && limit.window !== null)) {
      throw invalidOption(
        `hq.limits.set ${id}: burst has no meaning with the window of the limit, which lets all its jobs start at once`,
        { problem: 'burst-in-window' },
      )
    }
    const change: LimitChange = {
      ...given({ max: concurrency, count: rate, burst }, ['max', 'count', 'burst']),
      ...(rate === null ? { per: null } : {}),
      ...(per === undefined ? {} : { per: Math.round(seconds(per as Duration) * 1000) }),
    }
    if (await this.#app.store.limits.change(name, change)) return
    throw invalidOption(
      `hq.limits.set ${id}: burst needs a rate that is set, too, as in { rate: 100, per: '1m', burst: 10 }; to set neither, add burst: null`,
      { problem: 'burst-without-rate' },
    )
  }

  /** Deletes the numbers that were set: workers go back to those in the code. Resolves with false when none were set. @throws INVALID_OPTION */
  async reset(id: string): Promise<boolean> {
    return this.#app.store.limits.reset(storedNameOf(id))
  }
}

const ID = /^(?:app|(?<kind>queue|shared|job):(?<name>.+))$/s
const NUMBERED = /^(?<job>.+)#(?<position>[2-9]|[1-9]\d+)$/s
/** The name of a class, too, has at most as many. */
const MOST_CHARACTERS = 1000

/** Reads the id of a limit. @throws INVALID_OPTION */
function storedNameOf(id: string): string {
  const groups = typeof id === 'string' ? ID.exec(id)?.groups : undefined
  const { kind = 'app', name = 'all jobs' } = groups ?? {}
  if (!groups) {
    throw invalidOption(
      `hq.limits: name a limit as app (all jobs), queue:NAME, job:NAME, job:NAME#2 or shared:NAME (got ${shown(id)})`,
    )
  }
  if (name.length > MOST_CHARACTERS) {
    throw invalidOption(`hq.limits: a name must have at most 1,000 characters (got ${shown(name)} with ${name.length})`)
  }
  const { job = name, position = 1 } = (kind === 'job' && NUMBERED.exec(name)?.groups) || {}
  return storedName({ kind: kind as LimitKind, name: job, position: Number(position) })
}

/** Returns the id that `storedNameOf` reads, of a limit with or without its key. */
export function idOf(stored: string): string {
  const { kind, name, position } = parseStoredName(stored)
  return kind === 'app' ? kind : `${kind}:${name}${position > 1 ? `#${position}` : ''}`
}

function infoOf({ used, waiting, roomMs, set, code, ...limit }: LimitState): LimitInfo {
  const { name, window } = limit
  return {
    id: idOf(name),
    ...parseStoredName(name),
    ...figuresOf(limit),
    burst: limit.count && window === 'smooth' ? limit.burst : null,
    window: limit.count && window !== 'smooth' ? window : null,
    used,
    waiting,
    nextStart: roomMs === null ? null : roomMs / 1000,
    set: set ? figuresOf(set) : null,
    code: code ? figuresOf(code) : null,
  }
}

function figuresOf({ max, count, per, burst }: Partial<Limit>): LimitFigures {
  return { concurrency: max || null, rate: count || null, per: per ? per / 1000 : null, burst: burst ?? null }
}
