/** The selected rows, or all matching jobs, and the actions on them. */

import { useState } from 'preact/hooks'
import { t } from '../../i18n/index.ts'
import { ActionButtons } from './action-buttons.tsx'
import type { Action, ActionName } from './kinds.ts'
import type { Count } from './sweep.tsx'

interface SelectionProps {
  /** The number of matching jobs; null when it is unknown. */
  count: number | null
  all: Count & { isNarrow: boolean }
  isAll: boolean
  /** True when all shown rows are selected and further jobs match. */
  canAll: boolean
  actions: readonly Action[]
  onAll(): void
  onNone(): void
  onAct(name: ActionName): void
}

export function Selection({ count, all, isAll, canAll, actions, onAll, onNone, onAct }: SelectionProps) {
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
      <span class="actions">
        <ActionButtons actions={isAll ? actions.filter(({ isForAll }) => isForAll) : actions} onAct={onAct} />
      </span>
    </section>
  )
}

function allText({ isNarrow, count, isExact }: SelectionProps['all']): string {
  if (count === null || !isExact) return t('sets.selectMatching')
  return t(isNarrow ? 'sets.selectAllMatching' : 'sets.selectAll', { n: count })
}

/** Keeps the selected rows, or all matching jobs. Another page of the list starts without a selection. */
export function useSelection(query: string) {
  const [state, setState] = useState<{ query: string; ids: ReadonlySet<string>; isAll: boolean }>({
    query,
    ids: new Set(),
    isAll: false,
  })
  const isCurrent = state.query === query
  return {
    chosen: isCurrent ? state.ids : new Set<string>(),
    isAll: isCurrent && state.isAll,
    choose: (ids: ReadonlySet<string>) => setState({ query, ids, isAll: false }),
    chooseAll: () => setState({ ...state, query, isAll: true }),
  }
}
