/** The option `keepFinished`: which jobs that are done stay in the set of finished jobs, how long, and how many of them. */

import { type Duration, seconds } from './duration.ts'
import { invalidOption } from './errors.ts'
import { checkOptions, shown } from './options.ts'

/** true means the defaults; false keeps none. */
export type KeepFinished = boolean | KeepFinishedOptions

export interface KeepFinishedOptions {
  /** How long a finished job is kept at the most: seconds, `'1h'` or `{ hours: 1 }`. Default `'1h'`. */
  for?: number | Duration
  /** How many finished jobs are kept at the most. Default 10,000. */
  max?: number
}

/** The limits of the set of finished jobs. */
export interface FinishedLimits {
  seconds: number
  max: number
}

/** A job of a task is not kept: its task keeps an event for it. */
export interface FinishedRules extends FinishedLimits {
  keeps(own: KeepFinished | undefined, queue: string): boolean
  /** Counts a job that is kept. */
  countKept(): void
  /** Called when many jobs were kept since the last call, so that the oldest are removed before the next usual time. */
  onManyKept?: () => void
}

const DEFAULTS = { for: '1h', max: 10_000 }
const MOST_SECONDS = 1e9
/** `onManyKept` is called each time that half of `max` jobs, and at least this many, were kept. */
const MANY = 1000

/** @throws INVALID_OPTION */
export function checkKeepFinished(where: string, value: unknown): void {
  if (typeof value === 'boolean') return
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidOption(
      `${where}: keepFinished must be true, false or { for: '1h', max: 10_000 } (got ${shown(value)})`,
    )
  }
  checkOptions(`${where}: keepFinished`, value, { for: null, max: 'count' })
  const { for: time } = value as KeepFinishedOptions
  if (time === undefined) return
  const length = seconds(time)
  if (length > 0 && length <= MOST_SECONDS) return
  throw invalidOption(
    `${where}: keepFinished.for must be longer than 0 s, and at most 1,000,000,000 s (got ${length} s)`,
  )
}

/** `ofQueue` has the option of each queue, `others` all other values that jobs have. Undefined: no job is kept. */
export function finishedRules(
  app: KeepFinished | undefined,
  ofQueue: ReadonlyMap<string, KeepFinished>,
  others: readonly (KeepFinished | undefined)[],
): FinishedRules | undefined {
  const all = [app, ...ofQueue.values(), ...others].flatMap((value) => (value ? [limitsOf(value)] : []))
  if (all.length === 0) return undefined
  const max = Math.max(...all.map((one) => one.max))
  let kept = 0
  const rules: FinishedRules = {
    seconds: Math.max(...all.map((one) => one.seconds)),
    max,
    keeps: (own, queue) => (own ?? ofQueue.get(queue) ?? app ?? false) !== false,
    countKept() {
      kept++
      if (kept < Math.max(max / 2, MANY)) return
      kept = 0
      rules.onManyKept?.()
    },
  }
  return rules
}

function limitsOf(value: true | KeepFinishedOptions): FinishedLimits {
  const { for: time = DEFAULTS.for, max = DEFAULTS.max } = value === true ? {} : value
  return { seconds: seconds(time), max }
}
