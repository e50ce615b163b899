/** The actions on tasks: which of them a task allows, and how they are done on several tasks. */

import { sendRequest } from '../../api/client.ts'
import type { TaskStatus } from '../../api/types.ts'
import { confirm } from '../../components/confirm.tsx'
import { showToast } from '../../components/toast.tsx'
import { refusalText } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'

export const TASK_ACTIONS = ['pause', 'resume', 'retry', 'cancel', 'delete'] as const
export type TaskAction = (typeof TASK_ACTIONS)[number]

/** The keys of the actions, as on the page of one task. */
export const ACTION_KEYS = { pause: 'p', resume: 'p', retry: 'r', cancel: 'D', delete: 'D' } as const
/** The texts of the buttons. */
export const ACTION_TEXTS = {
  pause: 'task.pause',
  resume: 'task.resume',
  retry: 'task.retryRejected',
  cancel: 'task.cancel',
  delete: 'task.deleteAsk',
} as const satisfies Record<TaskAction, string>

export const rejectedCount = ({ counts }: TaskStatus) => counts.failed + counts.error

const isOver = ({ state }: TaskStatus) => state === 'done' || state === 'cancelled'

/** Returns whether a task allows an action now. */
export function canAct(act: TaskAction, task: TaskStatus): boolean {
  const { state } = task
  if (act === 'delete') return isOver(task)
  if (state === 'cancelling') return false
  if (act === 'retry') return rejectedCount(task) > 0
  if (act === 'resume') return state === 'paused'
  return !isOver(task) && (act === 'cancel' || state !== 'paused')
}

const ASKED = ['retry', 'cancel', 'delete'] as const

const requestOf = (act: TaskAction, { id }: TaskStatus): Promise<unknown> => {
  if (act === 'delete') return sendRequest('DELETE', `/tasks/${id}`)
  const body = act === 'retry' ? { status: ['failed', 'error'] } : undefined
  return sendRequest('POST', `/tasks/${id}/${act}`, body)
}

/** Does an action on those of the tasks that allow it, one after the other. The page asks first if it changes rows. */
export async function actOnTasks(act: TaskAction, tasks: readonly TaskStatus[]): Promise<boolean> {
  const some = tasks.filter((task) => canAct(act, task))
  const n = some.length
  const asked = ASKED.find((one) => one === act)
  if (asked) {
    const yes = await confirm({
      title: t(`tasks.ask.${asked}`, { n }),
      parts: some.map((task) => ({ name: task.name, count: asked === 'retry' ? rejectedCount(task) : task.total })),
      act: t(`tasks.do.${asked}`, { n }),
      keep: t('tasks.leave'),
      isDangerous: asked !== 'retry',
    })
    if (!yes) return false
  }
  let done = 0
  let failure: unknown
  for (const task of some) {
    try {
      await requestOf(act, task)
      done++
    } catch (thrown) {
      failure ??= thrown
    }
  }
  const text = t(`tasks.did.${act}`, { n: done })
  showToast(
    failure === undefined
      ? text
      : { text: `${text} ${t('toast.failed', { why: refusalText(failure) })}`, isRefusal: true },
  )
  return true
}
