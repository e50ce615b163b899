/**
 * Moves the ids of ordered queues, page by page (page.ts): waiting ids with their payloads and state, and dead ids.
 *
 * An id must not run in both stores at the same time. So a queue moves only while it is paused in the source, which `holdIds`
 * checks in each step, and it stays paused. The mover pauses a queue that no worker serves: a worker that starts there later
 * must not run what is pushed then. An id in flight stays until it has settled. What is pushed to the source meanwhile moves
 * with the next pass.
 */

import { ORDERED_PAGE, ORDERED_STEP, type Store, type TransferPage } from '../store/contract.ts'

/** Takes ids as a page for the target, and moves them. */
type Hold = (from: { queue: string; ids: readonly string[]; dead: boolean }) => Promise<TransferPage | null>

export interface OrderedMoverOptions {
  source: Store
  hold: Hold
  isEnding: () => boolean
  onPaused: (queue: string) => void
}

/** Moves the ids that may move now. */
export async function moveOrdered({ source, hold, isEnding, onPaused }: OrderedMoverOptions): Promise<void> {
  const { ordered } = source
  for (const queue of await ordered.queues()) {
    let state = await stateOf(ordered, queue)
    if (state === 'served') continue
    for (const dead of [false, true]) {
      for (let after = ''; !isEnding(); ) {
        const read = { after: { value: 0, id: after }, limit: ORDERED_PAGE }
        const page = dead
          ? await ordered.morgue(queue, 'id', read)
          : await ordered.waiting(queue, 'id', { ...read, payloads: 0 })
        const ids = page.map(({ id }) => id)
        const last = ids.at(-1)
        if (last === undefined) break
        after = last
        if (state === 'unserved') {
          await ordered.pause(queue, true)
          state = 'paused'
          onPaused(queue)
        }
        for (let left = ids; left.length > 0 && !isEnding(); ) {
          const held = await hold({ queue, ids: left, dead })
          if (held === null) break
          left = without(left, queue, held)
        }
      }
    }
  }
}

/**
 * Returns the ids that a page does not have, or of which it may have only a part. What is pushed meanwhile to the others moves with
 * the next pass, because a program could push without end.
 */
function without(ids: string[], queue: string, { ordered }: TransferPage): string[] {
  // Another mover may have held this page.
  if (ordered?.queue !== queue) return ids
  const payloads = ordered.ids.reduce((sum, one) => sum + one.payloads.length, 0)
  const whole = payloads < ORDERED_STEP ? ordered.ids : ordered.ids.slice(0, -1)
  const gone = new Set(whole.map(({ id }) => id))
  return ids.filter((id) => !gone.has(id))
}

/** Returns the queues with ids that a person must pause before they move. */
export async function servedQueues({ ordered }: Store): Promise<string[]> {
  const served: string[] = []
  for (const queue of await ordered.queues()) {
    const counts = await ordered.counts(queue, Date.now())
    const ids = counts?.shards.reduce((sum, { length }) => sum + length, 0) ?? 0
    if (ids > 0 && (await stateOf(ordered, queue)) === 'served') served.push(queue)
  }
  return served
}

async function stateOf(ordered: Store['ordered'], queue: string): Promise<'paused' | 'served' | 'unserved'> {
  const { paused = false, members = [] } = (await ordered.assignments(queue)) ?? {}
  if (paused) return 'paused'
  return members.length > 0 ? 'served' : 'unserved'
}
