import { HighkiqError } from './errors.ts'

/** From how many letters on a name is told from a typing error: shorter ones are too near to other words. */
const LONG_ENOUGH = 5

/** @throws INVALID_OPTION for a name that is not known: a typing error would else be a default in silence */
export function refuseUnknown(where: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new HighkiqError('INVALID_OPTION', `${where}: there is no option ${name}; there are ${known.join(', ')}`)
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
