/** Redaction: hides the values of the members that rules name, wherever the server shows jobs. */

import type { SearchView } from '../../inspect/filter.ts'
import { JobRecord } from '../../inspect/record.ts'
import { invalidOption } from '../../job/errors.ts'
import { parseJson, stringifyJson } from '../../job/json.ts'
import { readMessages } from '../../job/messages.ts'
import { withoutKeys } from '../../job/unique.ts'
import type { TaskEvent } from '../../tasks/event.ts'
import { redactMembers } from './redact-text.ts'

/**
 * The members whose values are hidden, at any depth. A string matches the whole name, in upper or lower case; a regular
 * expression matches a part of it. A function receives the name and the value of each member, and of each list item with
 * its index as the name. It returns what the server shows instead, or the value itself.
 */
export type Redact = readonly (RegExp | string)[] | ((key: string, value: unknown) => unknown)

export const HIDDEN = '[redacted]'
const UNREADABLE = '[redacted: not a job]'
const TOO_DEEP = '[too deep to show]'
/** Deeper values are not shown. */
const DEEPEST = 200

type Rule = (key: string, value: unknown) => unknown

export class Redaction {
  readonly #rule: Rule | undefined

  /** @throws INVALID_OPTION */
  constructor(rules: Redact | undefined) {
    this.#rule = rules === undefined ? undefined : ruleOf(rules)
  }

  /** True when there are rules. */
  get isOn(): boolean {
    return this.#rule !== undefined
  }

  /** The view of a search, which matches nothing that the rules hide. */
  get view(): SearchView {
    return this.isOn ? { shown: this.text } : {}
  }

  /** Returns the redacted job. */
  record(job: JobRecord): JobRecord {
    if (!this.#rule) return job
    return new JobRecord(this.text(job.text), { queue: job.queue, now: () => 0 })
  }

  /**
   * Returns the redacted payload. A text that is not a JSON object has no members to check, so it is hidden as a whole.
   * The keys of its locks are hidden: each is a digest of arguments, by which a guess could be checked.
   */
  readonly text = (text: string): string => {
    if (!this.#rule) return text
    try {
      const value = parseJson(text)
      const isJob = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (!isJob) return UNREADABLE
      const shown: Record<string, unknown> = this.value(value) as object & Record<string, unknown>
      const { hk_unique: locks } = shown
      if (typeof locks === 'string') shown.hk_unique = withoutKeys(locks, HIDDEN)
      if (Array.isArray(shown.hk_messages)) {
        shown.hk_messages = readMessages(shown.hk_messages).map(({ at, text }) => ({ at, text: this.message(text) }))
      }
      return stringifyJson(shown)
    } catch {
      return UNREADABLE
    }
  }

  /** Returns the redacted event of a task's row. */
  event(event: TaskEvent): TaskEvent {
    if (!this.#rule) return event
    const { args, result, messages } = event
    const shown = {
      args: this.value(args),
      messages: messages.map(({ at, text }) => ({ at, text: this.message(text) })),
    }
    return { ...event, ...shown, ...(result === undefined ? {} : { result: this.value(result) }) }
  }

  /** Returns the redacted message of an error. Rules see it as the member `error_message`, as in a job. */
  readonly message = (text: string): string => {
    const { error_message: shown } = this.value<{ error_message: unknown }>({ error_message: text })
    return typeof shown === 'string' ? shown : stringifyJson(shown)
  }

  /** Whether it hides this member of a job, or a part of it: then what is shown must not be written back. */
  hides(name: string, value: unknown): boolean {
    if (!this.#rule) return false
    const member = { [name]: value }
    const shown = stringifyJson(this.value(member))
    try {
      return shown !== stringifyJson(member)
    } catch {
      // The value has too many levels for JSON, so the page shows only a part of it.
      return true
    }
  }

  /** Returns a redacted copy of any JSON value, cut at the deepest level that can be written. */
  readonly value = <T>(value: T): T => this.#copy(value, 0) as T

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

  /** Redacts JSON inside a string, too. */
  #written(text: string): string {
    if (!this.#rule) return text
    try {
      if (/^\s*[[{]/.test(text)) {
        const inner = parseJson(text)
        const shown = stringifyJson(this.value(inner))
        return shown === stringifyJson(inner) ? text : shown
      }
    } catch {
      // The whole text is not JSON, but a part of it may be.
    }
    const show = (name: string, value: unknown) => this.#shown(name, value, false)
    return redactMembers(text, { isByName: namesOnly.has(this.#rule), show })
  }
}

/** Rules that apply to named members only, and not to the items of lists. */
const namesOnly = new WeakSet<Rule>()

function ruleOf(rules: unknown): Rule {
  if (typeof rules === 'function') return rules as Rule
  const isRule = (rule: unknown) => rule instanceof RegExp || (typeof rule === 'string' && rule !== '')
  if (!Array.isArray(rules) || !rules.every(isRule)) {
    throw invalidOption(
      "redact must be a list of names such as ['password', /token$/i], or a function (key, value) => shownValue",
    )
  }
  // test() of an expression with the flag g starts at its last match, search() does not.
  const tests = rules.map((rule: RegExp | string) => {
    if (typeof rule !== 'string') return (key: string) => key.search(rule) !== -1
    const name = rule.toLowerCase()
    return (key: string) => key.toLowerCase() === name
  })
  const rule: Rule = (key, value) => (tests.some((test) => test(key)) ? HIDDEN : value)
  namesOnly.add(rule)
  return rule
}
