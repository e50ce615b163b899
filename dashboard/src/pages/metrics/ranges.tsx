/** The choice of the time range. */

import { at } from '../../base.ts'
import { t } from '../../i18n/index.ts'

export const RANGES = ['1h', '8h', '24h', '72h'] as const
export type Range = (typeof RANGES)[number]

/** Minutes up to eight hours; above that, hours in steps of ten minutes. */
export function spanOf(range: Range): { minutes?: number; hours?: number } {
  const hours = Number.parseInt(range, 10)
  return hours <= 8 ? { minutes: hours * 60 } : { hours }
}

interface RangesProps {
  path: string
  range: Range
  of?: readonly Range[]
  /** The other parameters of the page. */
  rest?: Record<string, string | undefined>
}

export function Ranges({ path, range, of = RANGES, rest = {} }: RangesProps) {
  const to = (one: Range) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(rest)) if (value) query.set(name, value)
    query.set('range', one)
    return at(`${path}?${query}`)
  }
  return (
    <nav class="seg" aria-label={t('overview.range')}>
      {of.map((one) => (
        <a key={one} href={to(one)} {...(one === range ? { 'aria-current': 'true' as const } : {})}>
          {t('metrics.hours', { n: Number.parseInt(one, 10) })}
        </a>
      ))}
    </nav>
  )
}
