/** The buttons for actions on all matching jobs of a list. */

import { Menu } from '../../components/menu.tsx'
import { t } from '../../i18n/index.ts'
import type { Action, ActionName } from './kinds.ts'

interface BulkActionsProps {
  /** The most frequent action first: it has a button, the others are in a menu. */
  actions: readonly Action[]
  labelOf(name: ActionName): string
  onAct(name: ActionName): void
}

export function BulkActions({ actions, labelOf, onAct }: BulkActionsProps) {
  const [first, ...others] = actions
  if (!first) return null
  return (
    <>
      <button type="button" class="btn" onClick={() => onAct(first.name)}>
        {labelOf(first.name)}
      </button>
      {others.length > 0 && (
        <Menu
          label={t('sets.more')}
          items={others.map(({ name, isRisky }) => ({
            label: labelOf(name),
            isRisky: isRisky === true,
            act: () => onAct(name),
          }))}
        />
      )}
    </>
  )
}
