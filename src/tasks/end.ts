/** Cancelling and removing what may be half a million rows: a bounded piece at a time. */

import { insist } from './insist.ts'
import type { TaskHost } from './rows.ts'

const PAGE = 1000

/** Until no row of a task that is being cancelled waits; those that run are told to end. */
export async function cancelRows({ store, now }: TaskHost, id: string): Promise<void> {
  for (;;) {
    const { working, done } = await insist(() => store().cancelRows(id, PAGE, now()))
    for (const jid of working) await insist(() => store().markCancelled(jid, now()))
    if (done) return
  }
}

export async function removeTask({ store }: TaskHost, id: string): Promise<void> {
  while (!(await insist(() => store().deleteTask(id, PAGE))));
}
