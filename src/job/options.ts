import { invalidOption } from './errors.ts'
import { isObject } from './json.ts'

/** A shorter name gets no suggestion: it is too close to other names. */
const LONG_ENOUGH = 5

/** @throws INVALID_OPTION for an unknown name: a typing error would otherwise silently mean the default */
export function refuseUnknown(
  where: string,
  options: object,
  known: readonly string[],
  /** Names of options of something else, with a hint for each. */
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const meant = Object.hasOwn(elsewhere, name) ? elsewhere[name] : meantBy(name, known)
    const hint = meant === undefined ? 'there' : `did you mean ${meant}? There`
    throw invalidOption(`${where}: there is no option ${name}; ${hint} are ${known.join(', ')}`)
  }
}

/** Returns the options that are not undefined; with `names` only these. */
export function given<T extends object, K extends keyof T = keyof T>(
  options: T,
  names: readonly K[] = Object.keys(options) as K[],
): Pick<T, K> {
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  ) as Pick<T, K>
}

/** The kinds of option values, each with its description. */
const KINDS = {
  flag: [(value: unknown) => typeof value === 'boolean', 'true or false'],
  text: [(value: unknown) => typeof value === 'string' && value !== '', 'a string that is not empty'],
  count: [(value: unknown) => Number.isSafeInteger(value) && (value as number) > 0, 'a whole number above 0'],
  amount: [(value: unknown) => typeof value === 'number' && value > 0 && value < 2 ** 31, 'a number above 0'],
  index: [(value: unknown) => Number.isSafeInteger(value) && (value as number) >= -1, 'a whole number'],
  whole: [(value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0, 'a whole number, 0 or more'],
  seconds: [isAboveZero, 'a number of seconds above 0'],
  secondsOrZero: [(value: unknown) => typeof value === 'number' && value >= 0, 'a number of seconds, 0 or more'],
  cursor: [(value: unknown) => value === null || typeof value === 'string', 'the `next` of the page before'],
  texts: [
    (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
    'an array of strings',
  ],
  object: [isObject, 'an object'],
  function: [(value: unknown) => typeof value === 'function', 'a function'],
  signal: [(value: unknown) => value instanceof AbortSignal, "an AbortSignal, as an AbortController's `signal` is"],
} as const

/** A test for the allowed values of an option, and their description in an error message. */
export type OptionRule = readonly [holds: (value: unknown) => boolean, description: string]

/** The check of an option: a kind, a rule, or the allowed values; null when other code checks it. */
export type OptionKind = keyof typeof KINDS | OptionRule | readonly string[] | null

/** Allows a number above 0, including Infinity. */
export function isAboveZero(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

/** @throws INVALID_OPTION for an unknown name and for a value of the wrong kind */
export function checkOptions(
  where: string,
  options: unknown,
  known: Readonly<Record<string, OptionKind>>,
  elsewhere?: Readonly<Record<string, string>>,
): void {
  if (!isObject(options)) {
    const names = Object.keys(known).join(', ')
    throw invalidOption(`${where}: options must be an object (got ${shown(options)}); there are ${names}`)
  }
  refuseUnknown(where, options, Object.keys(known), elsewhere)
  for (const [name, value] of Object.entries(options)) {
    const kind = known[name] ?? null
    if (value === undefined || kind === null) continue
    const [holds, description] = ruleOf(kind)
    if (holds(value)) continue
    throw invalidOption(`${where}: ${name} must be ${description} (got ${shown(value)})`)
  }
}

function ruleOf(kind: Exclude<OptionKind, null>): OptionRule {
  if (typeof kind === 'string') return KINDS[kind]
  if (isRule(kind)) return kind
  return [(value) => kind.includes(value as string), `one of ${kind.map((word) => `'${word}'`).join(', ')}`]
}

function isRule(kind: OptionRule | readonly string[]): kind is OptionRule {
  return typeof kind[0] === 'function'
}

/** Checks that a value is a string: any other could end the process in a database driver. @throws INVALID_OPTION */
export function checkText(where: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalidOption(`${where} must be a string (got ${shown(value)})`)
}

const MOST_CHARACTERS = 80

/** Formats a value for a message, and cuts a long text. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS - 1)}…` : value)
  }
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'function') return 'a function'
  if (value === null || value === undefined) return String(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  if (value instanceof Promise) return 'a promise'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** Returns the known name that differs by one typing error: a letter added, missing, changed, or two swapped. */
export function meantBy(name: string, known: Iterable<string>): string | undefined {
  for (const one of known) {
    if (one.length >= LONG_ENOUGH && one !== name && isOneSlipFrom(name.toLowerCase(), one.toLowerCase())) return one
  }
  return undefined
}

function isOneSlipFrom(a: string, b: string): boolean {
  const more = a.length - b.length
  if (Math.abs(more) > 1) return false
  let at = 0
  while (at < b.length && a[at] === b[at]) at++
  if (more !== 0) return a.slice(at + Math.max(more, 0)) === b.slice(at + Math.max(-more, 0))
  const exchanged = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
  return exchanged || a.slice(at + 1) === b.slice(at + 1)
}
