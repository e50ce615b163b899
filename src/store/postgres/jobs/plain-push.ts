/** Pushes of jobs without effects: one statement for each queue, beside those of other processes. */

import { baseQueue } from '../../../job/priority.ts'
import type { PushItem } from '../../contract.ts'
import { priorityOffset } from '../queues/queues.ts'
import { ANSWER_SECONDS, type StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

/** Whether a job is only put at the back of a queue, and its text is a line, as JSON is. */
export function isPlain(item: PushItem): item is PushItem & { to: 'queue' } {
  if (item.to !== 'queue' || item.end !== 'back') return false
  if (item.effects?.length || item.once !== undefined || item.unique || item.maxLength !== undefined) return false
  return item.text !== '' && !item.text.includes('\n')
}

/** Stores plain jobs of one queue, in the order given. */
export async function pushPlain(server: StoreServer, queue: string, items: readonly PushItem[]): Promise<void> {
  const name = baseQueue(queue)
  // One long text is written and read with far less work than an array.
  const lines = items
    .map(({ text }) => text)
    .join('\n')
    .toWellFormed()
  const push = () =>
    server.runOne(
      async (db) => {
        const values = [server.lock, name, lines, priorityOffset(queue)] as const
        return (await db.first<{ pushed: boolean }>(sql.queue.pushPlain, ...values))?.pushed
      },
      [name],
    )
  // Another process may hide the queue again before the push.
  while (!(await push())) await server.write((db) => db.run(sql.queue.show, name), ANSWER_SECONDS)
}
