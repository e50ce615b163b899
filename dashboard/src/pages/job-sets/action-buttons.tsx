import { Icon } from '../../components/icon.tsx'
import { t } from '../../i18n/index.ts'
import type { Act, ActName } from './kinds.ts'

interface ActButtonsProps {
  acts: readonly Act[]
  /** True at the bottom of a drawer: the first action is emphasized, and those that end a job stand apart. */
  isFoot?: boolean
  onAct(name: ActName): void
}

export function ActButtons({ acts, isFoot = false, onAct }: ActButtonsProps) {
  return (
    <>
      {acts.map(({ name, icon, word, isRisky, key }, i) => {
        const isEnding = name === 'kill' || name === 'delete'
        const kind = isFoot ? (i === 0 ? ' primary' : isEnding ? ' ghost' : '') : ''
        return (
          <button
            key={name}
            type="button"
            class={`btn${kind}${isRisky ? ' risk' : ''}${isFoot && isEnding && !isEndingBefore(acts, i) ? ' apart' : ''}`}
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

function isEndingBefore(acts: ActButtonsProps['acts'], i: number): boolean {
  const before = acts[i - 1]?.name
  return before === 'kill' || before === 'delete'
}
