/** Formats how many jobs processes run at the same time. Slots for ordered batches are counted separately. */

import { number } from '../format/number.ts'
import { t } from '../i18n/index.ts'

export interface SlotCounts {
  /** Jobs and batches of ordered queues. */
  concurrency: number
  /** The part of `concurrency` for batches of ordered queues. */
  orderedConcurrency: number
}

/** `of 10`, or `of 10 + 5` with 5 batches of ordered queues. */
export function OfSlots({ concurrency, orderedConcurrency: ordered }: SlotCounts) {
  if (ordered === 0) return <>{t('overview.ofSlots', { n: concurrency })}</>
  const both = `${number(concurrency - ordered)} + ${number(ordered)}`
  return <span title={t('busy.slotsTitle')}>{t('overview.ofSlots', { n: both })}</span>
}

/** `10 slots`, or `10 + 5 slots` with 5 batches of ordered queues. */
export function Slots({ concurrency, orderedConcurrency: ordered }: SlotCounts) {
  if (ordered === 0) return <>{t('overview.facts.slots', { n: concurrency })}</>
  return <span title={t('busy.slotsTitle')}>{t('busy.slots', { jobs: concurrency - ordered, n: ordered })}</span>
}
