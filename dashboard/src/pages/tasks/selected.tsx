/** The actions on the selected tasks. */

import type { TaskStatus } from '../../api/types.ts'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { ACT_KEYS, ACT_TEXTS, canAct, TASK_ACTS, type TaskAct } from './task-acts.ts'

interface SelectedProps {
  tasks: readonly TaskStatus[]
  onNone(): void
  onAct(act: TaskAct): void
}

export function Selected({ tasks, onNone, onAct }: SelectedProps) {
  return (
    <section class="bulk" aria-label={t('tasks.selection')}>
      <b class="b" role="status">
        {t('tasks.selected', { n: tasks.length })}
      </b>
      <button type="button" class="plain dim" onClick={onNone}>
        {t('sets.selectNone')}
      </button>
      <span class="acts">
        {TASK_ACTS.map((act) => {
          const n = tasks.filter((task) => canAct(act, task)).length
          return (
            n > 0 && (
              <button
                type="button"
                key={act}
                class={act === 'cancel' || act === 'delete' ? 'btn s risk' : 'btn s'}
                data-key={ACT_KEYS[act]}
                onClick={() => onAct(act)}
              >
                {t(ACT_TEXTS[act])} <span class="n">{number(n)}</span>
              </button>
            )
          )
        })}
      </span>
    </section>
  )
}
