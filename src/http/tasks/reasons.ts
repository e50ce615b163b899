/** Why rows of a task were rejected, with a few rows that show it. */

import type { EventStatus } from '../../index.ts'
import type { TaskStatus } from '../../tasks/task.ts'
import type { Call } from '../route.ts'
import { eventsOf } from './task.ts'

type Looking = Pick<Call, 'hq' | 'site'>

export interface Reason {
  status: EventStatus
  /** null: rows for which none was given. They may have been rejected for many reasons. */
  code: string | null
  count: number
  /** The first rows of it; `message`: the last that was said of it. */
  samples: { index: number; number: number | null; message: string | null }[]
}

/** Reasons for which samples are looked up. */
const SAMPLED = 20
/** Rows that are looked at to find some without a code. */
const PAGE = 500

export async function reasonsOf(call: Looking, task: TaskStatus, samples: number): Promise<Reason[]> {
  const reasons = await call.hq.tasks.get(task.id).reasons()
  const all: Reason[] = []
  for (const { status, code, count } of reasons) {
    const isSampled = samples > 0 && all.length < SAMPLED
    all.push({ status, code, count, samples: isSampled ? await samplesOf(call, task, { status, code }, samples) : [] })
  }
  return all
}

async function samplesOf(
  call: Looking,
  task: TaskStatus,
  { status, code }: Pick<Reason, 'status' | 'code'>,
  most: number,
): Promise<Reason['samples']> {
  const page = { status: [status], after: -1 }
  const events =
    code === null
      ? (await eventsOf(call, task, { ...page, limit: PAGE })).filter((event) => event.code === null)
      : await eventsOf(call, task, { ...page, code, limit: most })
  return events.slice(0, most).map(({ index, number, messages }) => {
    return { index, number, message: messages.at(-1)?.text ?? null }
  })
}
