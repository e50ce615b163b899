/** Why rows of a task were rejected, with sample rows. */

import type { ReasonCount } from '../../../index.ts'
import { reasonFilter } from '../../../tasks/event.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import type { Call } from '../../server/route.ts'
import { eventsOf } from './queries.ts'

type QueryCall = Pick<Call, 'hq' | 'server'>

export interface Reason extends ReasonCount {
  /** The first rows with this reason, with their last message. */
  samples: { index: number; number: number | null; message: string | null }[]
}

/** The number of reasons with samples. */
const SAMPLED = 20

export async function reasonsOf(call: QueryCall, task: TaskStatus, samples: number): Promise<Reason[]> {
  const reasons = await call.hq.tasks.get(task.id).reasons()
  const all: Reason[] = []
  for (const reason of reasons) {
    const isSampled = samples > 0 && all.length < SAMPLED
    all.push({ ...reason, samples: isSampled ? await samplesOf(call, task, reason, samples) : [] })
  }
  return all
}

async function samplesOf(
  call: QueryCall,
  task: TaskStatus,
  { status, ...reason }: ReasonCount,
  most: number,
): Promise<Reason['samples']> {
  const events = await eventsOf(call, task, { status: [status], ...reasonFilter(reason), after: -1, limit: most })
  return events.map(({ index, number, messages }) => {
    return { index, number, message: messages.at(-1)?.text ?? null }
  })
}
