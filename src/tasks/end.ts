/** Cancelling and removing what may be half a million rows: a bounded piece at a time. */

import { insist } from './insist.ts'
import { metaOf } from './meta.ts'
import { removeFolder } from './parts.ts'
import type { StoreOfTasks } from './rows.ts'

const PAGE = 1000

/** Until no row of a task that is being cancelled waits; those that run are told to end. */
export async function cancelRows({ store, now }: StoreOfTasks, id: string): Promise<void> {
  for (;;) {
    const { maybeRunning: placed, done } = await insist(() => store().tasks.cancelRows(id, PAGE, now()))
    await Promise.all(placed.map((jid) => insist(() => store().cancellations.request(jid, now()))))
    if (done) return
  }
}

export async function removeTask({ store }: StoreOfTasks, id: string): Promise<void> {
  const record = await insist(() => store().tasks.find(id))
  const dir = record && metaOf(record).export?.dir
  if (dir) await removeFolder(dir, id)
  while (!(await insist(() => store().tasks.delete(id, PAGE))));
}
