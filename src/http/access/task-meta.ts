/** Withholds the `meta` that an app stores with a task: only operators see it. */

import type { TaskStatus } from '../../tasks/task.ts'

export function withoutMeta({ meta: _, ...status }: TaskStatus): TaskStatus {
  return status
}
