/** Pushes of jobs without effects: one statement for each queue, beside those of other processes. */

import { baseQueue } from '../../../job/priority.ts'
import type { PushItem } from '../../contract.ts'
import { priorityOffset } from '../queues/queues.ts'
import { ANSWER_SECONDS, type StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

/** Whether a job is only put at the back of a queue. */
export function isPlain(item: PushItem): item is PushItem & { to: 'queue' } {
  if (item.to !== 'queue' || item.end !== 'back') return false
  return !item.effects?.length && item.once === undefined && !item.unique && item.maxLength === undefined
}

/** Stores plain jobs of one queue, in the order given. */
export async function pushPlain(server: StoreServer, queue: string, items: readonly PushItem[]): Promise<void> {
  const name = baseQueue(queue)
  const texts = items.map(({ text }) => text.toWellFormed())
  const push = () =>
    server.runOne(async (db) => {
      const row = await db.first<{ pushed: boolean }>(
        sql.queue.pushPlain,
        server.lock,
        name,
        texts,
        priorityOffset(queue),
      )
      return row?.pushed
    })
  // Another process may hide the queue again before the push.
  while (!(await push())) await server.write((db) => db.run(sql.queue.show, name), ANSWER_SECONDS)
  await server.notify([name])
}
