/** The buttons for actions on all matching jobs of a list. */

import { Menu } from '../../components/menu.tsx'
import { t } from '../../i18n/index.ts'
import type { Act, ActName } from './kinds.ts'

interface AllActsProps {
  /** The most frequent action first: it has a button, the others are in a menu. */
  acts: readonly Act[]
  labelOf(name: ActName): string
  onAct(name: ActName): void
}

export function AllActs({ acts, labelOf, onAct }: AllActsProps) {
  const [first, ...others] = acts
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
