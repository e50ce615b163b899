/** The actions on the selected rows, or on all matching jobs. */

import { t } from '../../i18n/index.ts'
import { ActButtons } from './action-buttons.tsx'
import { isFiltered } from './filter.ts'
import type { ActName, KINDS } from './kinds.ts'
import type { Counted } from './sweep.tsx'

interface SelectionProps {
  /** The number of matching jobs; null when it is unknown. */
  count: number | null
  all: Counted
  isAll: boolean
  /** True when all shown rows are selected and further jobs match. */
  canAll: boolean
  acts: (typeof KINDS)['retries']['acts']
  onAll(): void
  onNone(): void
  onAct(name: ActName): void
}

export function Selection({ count, all, isAll, canAll, acts, onAll, onNone, onAct }: SelectionProps) {
  return (
    <section class="bulk" aria-label={t('sets.selection')}>
      <b class="b" role="status">
        {count === null
          ? t('sets.selected.all')
          : t(isAll && !all.isExact ? 'sets.selected.atLeast' : 'sets.selected', { n: count })}
      </b>
      {canAll && !isAll && (
        <button type="button" class="plain link" onClick={onAll}>
          {allText(all)}
        </button>
      )}
      <button type="button" class="plain dim" onClick={onNone}>
        {t('sets.selectNone')}
      </button>
      <span class="acts">
        <ActButtons acts={isAll ? acts.filter(({ isForAll }) => isForAll) : acts} onAct={onAct} />
      </span>
    </section>
  )
}

function allText({ filter, count, isExact }: Counted): string {
  if (count === null || !isExact) return t('sets.selectMatching')
  return t(isFiltered(filter) ? 'sets.selectAllMatching' : 'sets.selectAll', { n: count })
}
