import { Icon } from '../../components/icon.tsx'
import { t } from '../../i18n/index.ts'
import type { Action, ActionName } from './kinds.ts'

interface ActionButtonsProps {
  actions: readonly Action[]
  /** True at the bottom of a drawer: the first action is emphasized, and those that end a job stand apart. */
  isFoot?: boolean
  onAct(name: ActionName): void
}

export function ActionButtons({ actions, isFoot = false, onAct }: ActionButtonsProps) {
  return (
    <>
      {actions.map(({ name, icon, word, isRisky, key }, i) => {
        const isEnding = name === 'kill' || name === 'delete'
        const kind = isFoot ? (i === 0 ? ' primary' : isEnding ? ' ghost' : '') : ''
        return (
          <button
            key={name}
            type="button"
            class={`btn${kind}${isRisky ? ' risk' : ''}${isFoot && isEnding && !isEndingBefore(actions, i) ? ' apart' : ''}`}
            {...(key === undefined ? {} : { 'data-key': key })}
            // The second click of a double click would act on the job that the drawer shows next.
            onClick={({ detail }) => detail < 2 && onAct(name)}
          >
            {icon && !(isFoot && isEnding) && <Icon name={icon} />}
            {t(word)}
          </button>
        )
      })}
    </>
  )
}

function isEndingBefore(actions: ActionButtonsProps['actions'], i: number): boolean {
  const before = actions[i - 1]?.name
  return before === 'kill' || before === 'delete'
}
