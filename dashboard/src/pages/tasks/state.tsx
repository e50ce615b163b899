/** The state of a task as a badge. */

import type { TaskStatus } from '../../api/types.ts'
import { Pill } from '../../components/status.tsx'
import { t } from '../../i18n/index.ts'

const LIKE = {
  adding: 'working',
  running: 'working',
  paused: 'failed',
  interrupted: 'failed',
  cancelling: 'cancelled',
  done: 'finished',
  cancelled: 'cancelled',
} as const

export function StatePill({ state }: Pick<TaskStatus, 'state'>) {
  return <Pill like={LIKE[state]}>{t(`tasks.state.${state}`)}</Pill>
}
