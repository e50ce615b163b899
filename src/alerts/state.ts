/**
 * Which problems are open, and of which of them each target was notified. The difference is what a target is sent next, so a
 * problem is sent once when it begins and once when it is over, and one that begins and ends during quiet hours not at all.
 */

import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import { type Alert, type AlertKind, FIGURES, keyOf, type Thresholds } from './alert.ts'
import type { Target } from './options.ts'

/** A problem that has lasted for `after`. Times are milliseconds. */
export interface Problem {
  alert: Alert<Date | string>
  since: number
  /** When it was over; null while it lasts. It is kept until each target that was notified of it knows. */
  over: number | null
}

interface Notified {
  /** The problems of which the target was notified, and when they began. */
  problems: Record<string, number>
  /** Tries to send the next message that had no success. */
  tries: number
  /** When the next try may begin. */
  nextAt: number
  /** The problems of a message that was tried. It may have arrived, so the next try reports the same ones. */
  tried: string[]
}

export interface AlertState {
  problems: Record<string, Problem>
  targets: Record<string, Notified>
}

/** The keys of the problems that a message reports. */
export interface Changes {
  begun: string[]
  over: string[]
}

/** The most problems of each level that are open at a time, and the most that are over and wait for a target. */
const MOST_PROBLEMS = 200
/** The longest text of a stored alert: names can be of any length. */
const LONGEST = 300
/** The waits after a try without success: the first, which is longer than a try takes, and the longest. */
const FIRST_WAIT_MS = 15_000
const LONGEST_WAIT_MS = 3_600_000
/** Tries are counted up to this number. */
const MOST_TRIES = 20

export function emptyState(): AlertState {
  return { problems: {}, targets: {} }
}

/** Returns an empty state for a text of another program. */
export function readState(text: string): AlertState {
  try {
    const value = parseJson(text)
    if (isObject(value) && isObject(value.problems) && isObject(value.targets)) return value as unknown as AlertState
  } catch {
    // The next write replaces it.
  }
  return emptyState()
}

export function writeState(state: AlertState): string {
  return stringifyJson(state)
}

/** The alerts that reach their thresholds, by their keys. */
export function reachingThresholds(alerts: readonly Alert[], thresholds: Thresholds): Map<string, Alert> {
  const reaches = (alert: Alert) => {
    const least = thresholds[alert.kind] as false | Record<string, number> | undefined
    if (least === undefined || least === false) return least === undefined
    const figures = alert as unknown as Record<string, number>
    const names: readonly string[] = FIGURES[alert.kind]
    return names.every((name) => least[name] === undefined || (figures[name] ?? 0) >= least[name])
  }
  return new Map(alerts.filter(reaches).map((alert) => [keyOf(alert), alert]))
}

/** The longest waits before problems of these kinds are sent: the store forgets a silent process after a minute. */
const MOST_AFTER_MS: Partial<Record<AlertKind, number>> = { 'process-silent': 10_000 }

/** Remembers since when alerts are found, and since when they are not found any more. */
export class Watch {
  readonly #afterMs: number
  #foundSince = new Map<string, number>()
  #goneSince = new Map<string, number>()

  constructor(afterMs: number) {
    this.#afterMs = afterMs
  }

  /** Returns the problems after a look at the store. `isKnown`: whether a problem of a kind is over when it is not found. */
  problemsAfter(
    before: AlertState['problems'],
    found: ReadonlyMap<string, Alert>,
    { now, isKnown }: { now: number; isKnown: (kind: AlertKind) => boolean },
  ): AlertState['problems'] {
    const problems = { ...before }
    const gone = Object.entries(before).filter(
      ([key, { over, alert }]) => over === null && !found.has(key) && isKnown(alert.kind),
    )
    this.#goneSince = sinceOf(
      this.#goneSince,
      gone.map(([key]) => key),
      now,
    )
    for (const [key, problem] of gone) {
      if (this.#lasts(this.#goneSince.get(key), now)) problems[key] = { ...problem, over: now }
    }
    const fresh = [...found].filter(([key]) => before[key] === undefined || before[key].over !== null)
    this.#foundSince = sinceOf(
      this.#foundSince,
      fresh.map(([key]) => key),
      now,
    )
    for (const [key, alert] of fresh) {
      const lasts = this.#lasts(this.#foundSince.get(key), now, MOST_AFTER_MS[alert.kind])
      if (!lasts || openOf(problems, alert.level) >= MOST_PROBLEMS) continue
      // To a target that was not notified of its end, a problem that is back has never ended.
      problems[key] = { alert: shortened(alert), since: this.#foundSince.get(key) ?? now, over: null }
    }
    return problems
  }

  #lasts(since: number | undefined, now: number, mostMs = this.#afterMs): boolean {
    return now - (since ?? now) >= Math.min(this.#afterMs, mostMs)
  }
}

function openOf(problems: AlertState['problems'], level: Alert['level']): number {
  return Object.values(problems).filter(({ over, alert }) => over === null && alert.level === level).length
}

/** Returns since when each key is present. After the clock was set back, that is now at the latest. */
function sinceOf(before: ReadonlyMap<string, number>, keys: readonly string[], now: number): Map<string, number> {
  return new Map(keys.map((key) => [key, Math.min(before.get(key) ?? now, now)]))
}

function shortened(alert: Alert): Problem['alert'] {
  const cut = (value: unknown) => (typeof value === 'string' ? value.slice(0, LONGEST).toWellFormed() : value)
  return Object.fromEntries(Object.entries(alert).map(([name, value]) => [name, cut(value)])) as Problem['alert']
}

/** Returns what a target does not know yet, or may not know; undefined when it knows all. */
export function changesFor({ problems, targets }: AlertState, { id, wants }: Target): Changes | undefined {
  const { problems: notified = {}, tried = [] } = targets[id] ?? {}
  const isOpen = (key: string) => problems[key]?.over === null
  const again = tried.filter((key) => problems[key] !== undefined)
  const fresh = Object.entries(problems).flatMap(([key, { over, alert }]) => {
    const isNew = over === null ? notified[key] === undefined && wants(alert.kind) : notified[key] !== undefined
    return isNew ? [key] : []
  })
  const keys = again.length > 0 ? again : fresh
  if (keys.length === 0) return undefined
  return { begun: keys.filter(isOpen), over: keys.filter((key) => !isOpen(key)) }
}

/** Whether a try may begin now. */
export function isDue(state: AlertState, { id }: Target, now: number): boolean {
  const { nextAt = 0 } = state.targets[id] ?? {}
  // A clock that was set back must not hold a message for longer than the longest wait.
  return now >= nextAt || nextAt - now > LONGEST_WAIT_MS
}

/** Records that a try begins, before it does: when its process dies, the next try waits like after any other. */
export function beginTry(state: AlertState, { id }: Target, { begun, over }: Changes, now: number): AlertState {
  const { problems = {}, tries = 0 } = state.targets[id] ?? {}
  const nextAt = now + Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS)
  const tried = { problems, tries: Math.min(tries + 1, MOST_TRIES), nextAt, tried: [...begun, ...over] }
  return { ...state, targets: { ...state.targets, [id]: tried } }
}

/** Records that a target got its message. */
export function endTry(state: AlertState, { id }: Target, { begun, over }: Changes): AlertState {
  const problems = { ...state.targets[id]?.problems }
  for (const key of begun) problems[key] = state.problems[key]?.since ?? 0
  for (const key of over) delete problems[key]
  return { ...state, targets: { ...state.targets, [id]: { problems, tries: 0, nextAt: 0, tried: [] } } }
}

/** Drops the problems that are over and of which each target knows. */
export function pruned({ problems, targets }: AlertState): AlertState {
  const isAwaited = (key: string) =>
    Object.values(targets).some((target) => target.problems[key] !== undefined || target.tried.includes(key))
  const open = Object.entries(problems).filter(([, { over }]) => over === null)
  const over = Object.entries(problems)
    .filter(([key, { over }]) => over !== null && isAwaited(key))
    .sort(([, a], [, b]) => (b.over ?? 0) - (a.over ?? 0))
  const kept = new Map([...open, ...over.slice(0, MOST_PROBLEMS)])
  const prunedTarget = (target: Notified): Notified => ({
    ...target,
    problems: Object.fromEntries(Object.entries(target.problems).filter(([key]) => kept.has(key))),
  })
  return {
    problems: Object.fromEntries(kept),
    targets: Object.fromEntries(Object.entries(targets).map(([id, target]) => [id, prunedTarget(target)])),
  }
}
