/** Cancels and removes tasks of any size, a bounded number of rows at a time. */

import { metaOf } from './meta.ts'
import { removeFolder } from './parts.ts'
import { retryTransient, type StoreOfTasks } from './rows.ts'

const PAGE = 1000

/** Cancels rows until none waits. Running rows get a cancellation request. */
export async function cancelRows({ store, now }: StoreOfTasks, id: string): Promise<void> {
  for (;;) {
    const { maybeRunning, done } = await retryTransient(() => store.tasks.cancelRows(id, PAGE, now()))
    if (maybeRunning.length > 0) await retryTransient(() => store.cancellations.request(maybeRunning, now()))
    if (done) return
  }
}

export async function removeTask({ store }: StoreOfTasks, id: string): Promise<void> {
  const record = await retryTransient(() => store.tasks.find(id))
  const dir = record && metaOf(record).export?.dir
  if (dir) await removeFolder(dir, id)
  while (!(await retryTransient(() => store.tasks.delete(id, PAGE))));
}
