/** The ordered queue that a command is about. */

import { Argument } from 'commander'
import type { Highkiq, OrderedQueue } from '../index.ts'
import { CliError } from './usage.ts'

export const NAME = new Argument('<name>', 'of the ordered queue')

/** @throws CliError: there is none of that name */
export async function existing(hq: Highkiq, name: string): Promise<OrderedQueue> {
  const queue = hq.ordered(name)
  const names = await hq.orderedQueues()
  if (names.includes(queue.queue)) return queue
  const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none yet'
  throw new CliError(`no ordered queue is named ${name}: ${there}`)
}
