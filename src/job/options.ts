import { HighkiqError } from './errors.ts'
import { isObject } from './json.ts'

/** From how many letters on a name is told from a typing error: shorter ones are too near to other words. */
const LONG_ENOUGH = 5

/** @throws INVALID_OPTION for a name that is not known: a typing error would else be a default in silence */
export function refuseUnknown(
  where: string,
  options: object,
  known: readonly string[],
  /** Names from elsewhere, and what they are here. */
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const meant = Object.hasOwn(elsewhere, name) ? elsewhere[name] : meantBy(name, known)
    const hint = meant === undefined ? '' : `did you mean ${meant}? There `
    throw new HighkiqError(
      'INVALID_OPTION',
      `${where}: there is no option ${name}; ${hint || 'there '}are ${known.join(', ')}`,
    )
  }
}

/** Without what was passed as undefined; `names`: of those alone. */
export function given<T extends object, K extends keyof T = keyof T>(
  options: T,
  names: readonly K[] = Object.keys(options) as K[],
): Pick<T, K> {
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  ) as Pick<T, K>
}

/** What the value of an option can be, each with its words. */
const KINDS = {
  flag: [(value: unknown) => typeof value === 'boolean', 'true or false'],
  text: [(value: unknown) => typeof value === 'string' && value !== '', 'a text'],
  count: [(value: unknown) => Number.isSafeInteger(value) && (value as number) > 0, 'a whole number above 0'],
  amount: [(value: unknown) => typeof value === 'number' && value > 0 && value < 2 ** 31, 'a number above 0'],
  index: [(value: unknown) => Number.isSafeInteger(value) && (value as number) >= -1, 'a whole number'],
  whole: [(value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0, 'a whole number, 0 or more'],
  seconds: [isAboveZero, 'a number of seconds above 0'],
  texts: [
    (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
    'an array of strings',
  ],
  object: [isObject, 'an object'],
  function: [(value: unknown) => typeof value === 'function', 'a function'],
  signal: [(value: unknown) => value instanceof AbortSignal, "an AbortSignal, as an AbortController's `signal` is"],
} as const

/** A test for the right values of an option, and the words for them in an error message. */
export type OptionRule = readonly [holds: (value: unknown) => boolean, words: string]

/** The check of an option: a kind, a rule, or the words that are allowed; null when other code checks it. */
export type OptionKind = keyof typeof KINDS | OptionRule | readonly string[] | null

/** Allows a number above 0, including Infinity. */
export function isAboveZero(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

/** @throws INVALID_OPTION for a name that is not known, and for a value that is not of its kind */
export function checkOptions(
  where: string,
  options: unknown,
  known: Readonly<Record<string, OptionKind>>,
  elsewhere?: Readonly<Record<string, string>>,
): void {
  if (!isObject(options)) {
    const names = Object.keys(known).join(', ')
    throw new HighkiqError(
      'INVALID_OPTION',
      `${where}: options are an object, not ${shown(options)}; there are ${names}`,
    )
  }
  refuseUnknown(where, options, Object.keys(known), elsewhere)
  for (const [name, value] of Object.entries(options)) {
    const kind = known[name] ?? null
    if (value === undefined || kind === null) continue
    const [holds, words] = ruleOf(kind)
    if (holds(value)) continue
    throw new HighkiqError('INVALID_OPTION', `${where}: ${name} is ${words}, not ${shown(value)}`)
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

/** What a driver can't bind would end the process. @throws INVALID_OPTION */
export function checkText(where: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new HighkiqError('INVALID_OPTION', `${where} is a text, not ${shown(value)}`)
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
  if (value instanceof Promise) return 'a promise'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** The known name that this one is a typing error of: a letter too many, too few, another one, or two exchanged. */
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

/** @throws INVALID_OPTION */
export function checkMiddleware(where: string, use: unknown): void {
  if (Array.isArray(use) && use.every((link) => typeof link === 'function')) return
  throw new HighkiqError('INVALID_OPTION', `${where}: use is an array of middleware, functions of (ctx, next)`)
}
