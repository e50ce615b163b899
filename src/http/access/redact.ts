/** What never leaves the server: values of members that rules name, wherever jobs are shown. */

import { JobRecord } from '../../inspect/record.ts'
import { HighkiqError } from '../../job/errors.ts'
import { parseJson, stringifyJson } from '../../job/json.ts'
import type { TaskEvent } from '../../tasks/event.ts'

/**
 * Names of members, any depth: a text is the whole name (upper and lower case are the same), an expression is searched for
 * in it. A function is asked for each member and each item of a list (its name is its number then), and answers what is
 * shown: the value itself, if it may be.
 */
export type Redact = readonly (RegExp | string)[] | ((key: string, value: unknown) => unknown)

const HIDDEN = '[redacted]'
const UNREADABLE = '[redacted: this is no job, and can not be looked through]'
const TOO_DEEP = '[too deep to be shown]'
/** Nobody reads further. */
const DEEPEST = 200

type Rule = (key: string, value: unknown) => unknown

export class Redaction {
  readonly #rule: Rule | undefined

  /** @throws INVALID_OPTION */
  constructor(rules: Redact | undefined) {
    this.#rule = rules === undefined ? undefined : ruleOf(rules)
  }

  /** Whether there are rules. */
  get isOn(): boolean {
    return this.#rule !== undefined
  }

  /** The job as it may be shown. */
  record(job: JobRecord): JobRecord {
    if (!this.#rule) return job
    return new JobRecord(this.text(job.text), { queue: job.queue, now: () => 0 })
  }

  /** The same for its text. What is no JSON object has no members that could be told apart: nothing of it is shown. */
  readonly text = (text: string): string => {
    if (!this.#rule) return text
    try {
      const value = parseJson(text)
      const isJob = typeof value === 'object' && value !== null && !Array.isArray(value)
      return isJob ? stringifyJson(this.value(value)) : UNREADABLE
    } catch {
      return UNREADABLE
    }
  }

  /** What became of a task's row. */
  event(event: TaskEvent): TaskEvent {
    if (!this.#rule) return event
    const { params, result } = event
    return { ...event, params: this.value(params), ...(result === undefined ? {} : { result: this.value(result) }) }
  }

  /** A copy of any JSON value as it may be shown; no deeper than can be written. */
  value<T>(value: T): T {
    return this.#copy(value, 0) as T
  }

  #copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#written(value)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth >= DEEPEST) return TOO_DEEP
    const member = (key: string, one: unknown, isItem: boolean) => {
      const shown = this.#shown(key, one, isItem)
      return shown === one ? this.#copy(one, depth + 1) : shown
    }
    if (Array.isArray(value)) return value.map((item, i) => member(String(i), item, true))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, member(key, one, false)]))
  }

  #shown(key: string, value: unknown, isItem: boolean): unknown {
    const rule = this.#rule
    if (!rule || (isItem && namesOnly.has(rule))) return value
    try {
      const shown = rule(key, value)
      return shown === undefined && value !== undefined ? HIDDEN : shown
    } catch {
      return HIDDEN
    }
  }

  /** JSON inside of a text is looked through, too. */
  #written(text: string): string {
    if (!this.#rule || !/^\s*[[{]/.test(text)) return text
    try {
      const inner = parseJson(text)
      const shown = stringifyJson(this.value(inner))
      return shown === stringifyJson(inner) ? text : shown
    } catch {
      return text
    }
  }
}

/** Rules that say nothing of items of lists, which have no names. */
const namesOnly = new WeakSet<Rule>()

function ruleOf(rules: unknown): Rule {
  if (typeof rules === 'function') return rules as Rule
  const isRule = (rule: unknown) => rule instanceof RegExp || (typeof rule === 'string' && rule !== '')
  if (!Array.isArray(rules) || !rules.every(isRule)) {
    throw new HighkiqError(
      'INVALID_OPTION',
      "redact is a list of names of members, such as ['password', /token$/i], or a function (key, value) => what is shown",
    )
  }
  // An expression with the flag g begins where it ended last.
  const tests = rules.map((rule: RegExp | string) => {
    if (typeof rule !== 'string') return (key: string) => key.search(rule) !== -1
    const name = rule.toLowerCase()
    return (key: string) => key.toLowerCase() === name
  })
  const rule: Rule = (key, value) => (tests.some((test) => test(key)) ? HIDDEN : value)
  namesOnly.add(rule)
  return rule
}
