/** Limits of jobs: the option, its check, named limits, and the key of a job. */

import type { JobContext } from './context.ts'
import { type Duration, seconds } from './duration.ts'
import { invalidOption } from './errors.ts'
import { checkOptions, type OptionKind, shown } from './options.ts'
import { OTHER_LIMIT_NAMES } from './other-names.ts'

export interface LimitOptions {
  /** The number of jobs that run at the same time on all workers. */
  concurrency?: number
  /** The number of jobs that start within `per` on all workers, evenly spaced unless `burst` or `window` says otherwise. */
  rate?: number
  /** The time of `rate`: seconds up to 3,600, `'1m'`, `'1d'` or `{ minutes: 1 }`. */
  per?: number | Duration
  /** How many jobs may start at once after a pause; default 1. */
  burst?: number
  /**
   * Starts the jobs as they come. `fixed`: at most `rate` in a window of `per`, which begins with its first job. `sliding`: at
   * most `rate` in any time of `per`.
   */
  window?: 'fixed' | 'sliding'
  /** Returns the key of a job from its arguments; each key has a limit of its own. It must always return the same key. */
  // biome-ignore lint/suspicious/noExplicitAny: the arguments of any job
  by?: (...args: any[]) => string | number
}

/** The option `limit` of a job: a limit of its own, one that it shares with other jobs, or several. */
export type JobLimit = LimitOptions | NamedLimit | readonly (LimitOptions | NamedLimit)[]

export interface WithinOptions {
  /** Seconds for which the handler waits for room; default 0. */
  wait?: number
  /** The key; default what `by` returns for the arguments of the job. */
  key?: string | number
}

/** Runs `work` of a handler when the limit has room for it. */
export type RunWithin = <Result>(
  limit: NamedLimit,
  ctx: JobContext,
  options: WithinOptions,
  work: () => Result | Promise<Result>,
) => Promise<Result>

/** A limit that several jobs share, and that handlers can use for a part of their work. `hq.limit` makes it. */
export class NamedLimit {
  readonly kind = 'shared'
  readonly name: string
  readonly options: LimitOptions
  readonly #run: RunWithin

  constructor(name: string, options: LimitOptions, run: RunWithin) {
    this.name = name
    this.options = options
    this.#run = run
  }

  /**
   * Runs a part of a handler when the limit has room, and resolves with its result. Without room for `wait` seconds the
   * attempt ends: the job waits in the store until there is room, uses up no retry, and its handler starts again from the
   * beginning. Where no worker runs the job, as in a test with `inline`, the work runs at once.
   * @throws INVALID_OPTION; an error that the handler must not catch, which ends the attempt
   */
  within<Result>(ctx: JobContext, work: () => Result | Promise<Result>): Promise<Result>
  within<Result>(ctx: JobContext, options: WithinOptions, work: () => Result | Promise<Result>): Promise<Result>
  async within<Result>(
    ctx: JobContext,
    ...rest: [() => Result | Promise<Result>] | [WithinOptions, () => Result | Promise<Result>]
  ): Promise<Result> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
    const where = `limit ${this.name}: within`
    checkOptions(where, options, { wait: WAIT, key: null })
    if (options.key !== undefined && !this.options.by) {
      throw invalidOption(`${where}: key needs a limit with keys: give hq.limit the option by, or leave key out`)
    }
    if (typeof work !== 'function') throw invalidOption(`${where} needs a function: await limit.within(ctx, work)`)
    return this.#run(this, ctx, options, work)
  }
}

/** Ends an attempt whose limit has no room: the job waits for room in the store. */
export class OverLimit extends Error {
  readonly highkiq = 'over-limit'
  /** The limit as the store knows it. */
  readonly limit: { readonly name: string }

  constructor(limit: { readonly name: string }) {
    const { name, key } = parseStoredName(limit.name)
    super(`limit ${name}${key === null ? '' : ` (key ${key})`} has no room: the job waits in the store`)
    this.name = 'OverLimit'
    this.limit = limit
  }
}

const MOST_WAIT_SECONDS = 86_400
const WAIT: OptionKind = [
  (value) => typeof value === 'number' && value >= 0 && value <= MOST_WAIT_SECONDS,
  'a number of seconds from 0 to 86,400',
]

const OPTIONS: Record<keyof LimitOptions, OptionKind> = {
  concurrency: 'count',
  rate: 'count',
  per: [
    (value) => isPeriod(value),
    "a time from 1 ms to 366 days: seconds (not milliseconds) up to 3,600, '1m', '1d' or { minutes: 1 }",
  ],
  burst: 'count',
  window: ['fixed', 'sliding'],
  by: 'function',
}

const LONGEST_SECONDS = 366 * 86_400
/** A larger number without a unit is probably meant as milliseconds. */
const MOST_SECONDS_WITHOUT_UNIT = 3600
const MOST_PER_SECOND = 10_000
const MOST_CHARACTERS = 200

/** Checks the option `limit` of a job. @throws INVALID_OPTION */
export function checkJobLimit(job: string, limit: JobLimit): void {
  const all = limitsIn(limit)
  if (all.length === 0) throw invalidOption(`${job}: limit must not be an empty list`)
  for (const one of all) if (!(one instanceof NamedLimit)) checkLimit(job, one)
  const rules = limitRules(job, limit)
  const names = rules.map((rule) => storedName(rule))
  const twice = rules.find((_, i) => names.indexOf(names[i] as string) !== i)
  if (twice) throw invalidOption(`${job}: limit names ${twice.name} twice`)
}

/** A limit with its name, before its key is known. */
export interface LimitRule {
  readonly kind: LimitKind
  readonly name: string
  /** The position of a limit among those of its job; 1 if absent. */
  readonly position?: number
  readonly options: LimitOptions
}

/** To what a limit belongs: to a job, to all jobs that name it (`hq.limit`), to a queue, or to the app. */
export type LimitKind = 'job' | 'shared' | 'queue' | 'app'

export function limitRules(job: string, limit: JobLimit): LimitRule[] {
  return limitsIn(limit).map((one, i) =>
    one instanceof NamedLimit ? one : { kind: 'job', name: job, position: i + 1, options: one },
  )
}

/**
 * Returns the name of a limit in the store: `KIND:NAME` or `KIND:NAME:KEY`. Limits of different kinds may have the same name. A
 * colon in the name is escaped.
 */
export function storedName({ kind, name, position = 1 }: Omit<LimitRule, 'options'>, key?: string): string {
  const own = `${kind}:${name.replace(/[%: ]/g, encodeURIComponent)}${position > 1 ? ` ${position}` : ''}`
  return key === undefined ? own : `${own}:${key}`
}

/**
 * Returns the name of a limit in the store for one job. `key` is called if the limit has keys.
 * @throws INVALID_OPTION for a wrong key
 */
export function nameFor(rule: LimitRule, key: () => unknown): string {
  return storedName(rule, rule.options.by && checkedKey(rule.name, key()))
}

/** Returns the stored name of the limit that most other jobs share with this one: one without keys if there is any. */
export function widestLimit(job: string, limit: JobLimit, args: readonly unknown[]): string {
  const rules = limitRules(job, limit)
  const rule = rules.find(({ options }) => !options.by) ?? (rules[0] as LimitRule)
  return nameFor(rule, () => rule.options.by?.(...args))
}

interface StoredParts {
  kind: LimitKind
  name: string
  position?: string
  key?: string
}

const STORED = /^(?<kind>job|shared|queue|app):(?<name>[^: ]*)(?: (?<position>\d+))?(?::(?<key>.*))?$/s

/** Returns whether `parseStoredName` can read a name. A later version may have stored one that it can't. */
export function isStoredName(stored: string): boolean {
  return STORED.test(stored)
}

/** Reads what `storedName` returned. */
export function parseStoredName(stored: string): Required<Omit<LimitRule, 'options'>> & { key: string | null } {
  const { groups } = STORED.exec(stored) as RegExpExecArray
  const { kind, name, position = 1, key = null } = groups as unknown as StoredParts
  return {
    kind,
    name: name.replace(/%(25|3A|20)/g, decodeURIComponent),
    position: Number(position),
    key,
  }
}

function limitsIn(limit: JobLimit): readonly (LimitOptions | NamedLimit)[] {
  return Array.isArray(limit) ? limit : [limit as LimitOptions | NamedLimit]
}

/** @throws INVALID_OPTION */
export function checkLimit(job: string, limit: LimitOptions): void {
  checkOptions(`${job}: limit`, limit, OPTIONS, OTHER_LIMIT_NAMES)
  const { concurrency, rate, per, burst, window } = limit
  if (concurrency === undefined && rate === undefined) {
    throw invalidOption(
      `${job}: limit needs concurrency, the number of jobs that run at the same time, as in { concurrency: 5 }, or a rate, as in { rate: 100, per: '1m' }`,
    )
  }
  if ((rate === undefined) !== (per === undefined)) {
    throw invalidOption(`${job}: limit needs rate and per together, as in { rate: 100, per: '1m' }`)
  }
  for (const name of ['burst', 'window'] as const) {
    if (limit[name] !== undefined && rate === undefined) throw invalidOption(`${job}: limit: ${name} needs a rate`)
  }
  if (burst !== undefined && window !== undefined) {
    throw invalidOption(
      `${job}: limit: burst has no meaning with a window, which lets all jobs of the window start at once`,
    )
  }
  checkRate(`${job}: limit`, rate, per)
}

function checkRate(where: string, rate: number | null | undefined, per: LimitOptions['per']): void {
  if (typeof rate !== 'number' || rate <= MOST_PER_SECOND * seconds(per as Duration)) return
  throw invalidOption(`${where}: rate must be at most 10,000 jobs in a second (got ${rate} in ${shown(per)})`)
}

/** The numbers of a limit that `hq.limits.set` takes. Null: that of the code. */
export type LimitSettings = { [Name in 'concurrency' | 'rate' | 'burst']?: number | null } & Pick<LimitOptions, 'per'>

/** Checks numbers that are to be set. @throws INVALID_OPTION */
export function checkLimitNumbers(where: string, settings: LimitSettings): void {
  const count = [
    (value: unknown) => value === null || (Number.isSafeInteger(value) && (value as number) > 0),
    'a whole number above 0, or null',
  ] as OptionKind
  checkOptions(where, settings, { concurrency: count, rate: count, per: OPTIONS.per, burst: count }, OTHER_LIMIT_NAMES)
  const { concurrency, rate, per, burst } = settings
  if ([concurrency, rate, per, burst].every((value) => value === undefined)) {
    throw invalidOption(`${where} needs a number, as in { concurrency: 5 } or { rate: 100, per: '1m' }`)
  }
  if ((rate ?? undefined) !== undefined ? per === undefined : per !== undefined) {
    throw invalidOption(`${where} needs rate and per together, as in { rate: 100, per: '1m' }`)
  }
  checkRate(where, rate, per)
}

/** Describes a limit. Two texts are equal when both limits have the same values; a function counts as its source. */
export function limitText(options: LimitOptions): string {
  const members = (Object.keys(OPTIONS) as (keyof LimitOptions)[]).flatMap((name) => {
    const value = options[name]
    if (value === undefined) return []
    if (name === 'per') return [`per: ${seconds(value as Duration)}`]
    return [`${name}: ${typeof value === 'string' ? `'${value}'` : value}`]
  })
  return `{ ${members.join(', ')} }`
}

/** Checks a key. @throws INVALID_OPTION */
export function checkedKey(name: string, key: unknown): string {
  const isKey = (typeof key === 'string' && key !== '' && key.length <= MOST_CHARACTERS) || Number.isFinite(key)
  if (isKey) return String(key).toWellFormed()
  throw invalidOption(
    `${name}: limit.by must return a number or a string of 1 to ${MOST_CHARACTERS} characters (got ${shown(key)})`,
  )
}

function isPeriod(value: unknown): boolean {
  try {
    const sum = seconds(value as Duration)
    return sum >= 0.001 && sum <= (typeof value === 'number' ? MOST_SECONDS_WITHOUT_UNIT : LONGEST_SECONDS)
  } catch {
    return false
  }
}
