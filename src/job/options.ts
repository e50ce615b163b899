import { HighkiqError } from './errors.ts'

/** @throws INVALID_OPTION for a name that is not known: a typing error would else be a default in silence */
export function refuseUnknown(where: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new HighkiqError('INVALID_OPTION', `${where}: there is no option ${name}; there are ${known.join(', ')}`)
  }
}

/** @throws INVALID_OPTION */
export function checkMiddleware(where: string, use: unknown): void {
  if (Array.isArray(use) && use.every((link) => typeof link === 'function')) return
  throw new HighkiqError('INVALID_OPTION', `${where}: use is an array of middleware, functions of (ctx, next)`)
}
