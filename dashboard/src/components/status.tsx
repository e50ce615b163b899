/** Statuses of rows: always shape, colour and word, in this order. */

import type { EventStatus } from '../api/types.ts'
import { number } from '../format/number.ts'
import { t } from '../i18n/index.ts'
import { StatusIcon } from './icon.tsx'

export const IN_ORDER: readonly EventStatus[] = ['finished', 'failed', 'error', 'working', 'enqueued', 'cancelled']

export function Status({ status }: { status: EventStatus }) {
  return (
    <span class={`st ${status}`}>
      <StatusIcon status={status} />
      {t(`status.${status}`)}
    </span>
  )
}

/** Shows a text of its own in the colour of a status: `Retry 4 of 25`. */
export function Pill({ like, children }: { like: EventStatus; children: preact.ComponentChildren }) {
  return (
    <span class={`pill ${like}`}>
      <StatusIcon status={like} />
      {children}
    </span>
  )
}

/** Shows the shares of the statuses; every share above 0 is visible. */
export function StatusBar({
  counts,
  large = false,
}: {
  counts: Partial<Record<EventStatus, number>>
  large?: boolean
}) {
  const shown = IN_ORDER.filter((status) => (counts[status] ?? 0) > 0)
  const label = shown.map((status) => `${number(counts[status] ?? 0)} ${t(`status.${status}`)}`).join(', ')
  return (
    <div class={large ? 'bar xl' : 'bar'} role="img" aria-label={label === '' ? t('nothing') : label}>
      {shown.length === 0 && <i class="enqueued" style={{ '--n': 1 }} />}
      {shown.map((status) => (
        <i key={status} class={status} style={{ '--n': counts[status] ?? 0 }} />
      ))}
    </div>
  )
}
