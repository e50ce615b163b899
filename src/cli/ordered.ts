/** The ordered queue that a command is about. */

import { Argument } from 'commander'
import type { Highkiq, OrderedQueue } from '../index.ts'
import { unknownOrdered } from '../job/unknown-ordered.ts'

export const NAME = new Argument('<name>', 'of the ordered queue')

/** @throws UNKNOWN_ORDERED */
export async function existing(hq: Highkiq, name: string): Promise<OrderedQueue> {
  const queue = hq.ordered(name)
  const names = await hq.orderedQueues()
  if (names.includes(queue.queue)) return queue
  throw unknownOrdered(name, names)
}
