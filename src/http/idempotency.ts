/** `Idempotency-Key`: whoever sends an import again, for the answer did not come, gets the task that they have. */

import { createHash } from 'node:crypto'
import type { Highkiq } from '../app.ts'
import { HighkiqError } from '../job/errors.ts'
import { newTaskId } from '../job/payload.ts'
import { isBeingAdded } from '../tasks/submitter.ts'
import { invalid } from './answer.ts'

type TaskRecord = NonNullable<Awaited<ReturnType<Highkiq['store']['task']>>>

const DAY = 86_400
const LOOK_MS = 500

/** What a key stands for. */
export interface Keyed {
  /** The task's id, chosen before there is one. */
  id: string
  task: TaskRecord | null
  /**
   * `make`: there is no task yet. `continue`: it broke off, and goes on with the same file. `wait`: its rows are coming in
   * by another request. `whole`: they are there.
   */
  to: 'make' | 'continue' | 'wait' | 'whole'
  /** Says that the task is there, so that one that is deleted is not made again. */
  made(): Promise<void>
}

/**
 * @param about what the request says beside its body
 * @throws INVALID_REQUEST: no key, or one that was used for something else; UNKNOWN_TASK: its task was deleted
 */
export async function keyedBy(hq: Highkiq, text: string, about: string): Promise<Keyed> {
  if (!/^[\x21-\x7e]{1,200}$/.test(text)) {
    throw invalid('Idempotency-Key is a text of 1 to 200 characters (ASCII, no blanks), for instance a UUID')
  }
  const { store } = hq
  const key = `import ${digest(text)}`
  const fresh = newTaskId()
  const there = (await store.remember(key, fresh, DAY)) ?? fresh
  const [id = '', madeFor] = there.split(' ')
  const made = async () => {
    if (madeFor === undefined) await store.remember(key, `${id} ${digest(about)}`, DAY, there)
  }
  if (id === fresh) return { id, task: null, to: 'make', made }
  if (madeFor !== undefined && madeFor !== digest(about)) {
    throw invalid('this Idempotency-Key was used with other parameters: a new import needs a new key', { task: id })
  }
  const task = await store.task(id)
  if (!task && madeFor !== undefined) {
    throw new HighkiqError('UNKNOWN_TASK', `task ${id}, which this Idempotency-Key made, was deleted: use a new key`)
  }
  return { id, task, to: task ? await stateOf(hq, task) : 'make', made }
}

async function stateOf(hq: Highkiq, task: TaskRecord): Promise<Keyed['to']> {
  if (task.state === 'cancelling' || task.state === 'cancelled') return 'whole'
  // Also one that is paused besides.
  if (task.broken) return 'continue'
  if (!task.adding) return 'whole'
  return (await isBeingAdded(hq.store, task)) ? 'wait' : 'continue'
}

/** Until another request has sent all rows. @throws BODY_BROKEN_OFF when it did not; the reason of `signal` */
export async function whole(hq: Highkiq, id: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const task = await hq.store.task(id)
    const to = task ? await stateOf(hq, task) : 'whole'
    if (to === 'whole') return
    if (to === 'continue') {
      const message = 'the request before this one broke off: send the file again'
      throw new HighkiqError('BODY_BROKEN_OFF', message, { task: id })
    }
    await new Promise((resume) => setTimeout(resume, LOOK_MS))
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
