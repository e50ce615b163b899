/** The actions on the selected tasks. */

import type { TaskStatus } from '../../api/types.ts'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { ACTION_KEYS, ACTION_TEXTS, canAct, TASK_ACTIONS, type TaskAction } from './task-actions.ts'

interface SelectedProps {
  tasks: readonly TaskStatus[]
  onNone(): void
  onAct(act: TaskAction): void
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
      <span class="actions">
        {TASK_ACTIONS.map((act) => {
          const n = tasks.filter((task) => canAct(act, task)).length
          return (
            n > 0 && (
              <button
                type="button"
                key={act}
                class={act === 'cancel' || act === 'delete' ? 'btn s risk' : 'btn s'}
                data-key={ACTION_KEYS[act]}
                onClick={() => onAct(act)}
              >
                {t(ACTION_TEXTS[act])} <span class="n">{number(n)}</span>
              </button>
            )
          )
        })}
      </span>
    </section>
  )
}
