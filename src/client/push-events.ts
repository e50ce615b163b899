/** Adds the event `pushed` to what the store changes with a push. The store records it in the same step. */

import { isRecorded, recordOf } from '../events/job-event.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import type { BatchPush, PushItem, RecordEffect } from '../store/contract.ts'
import type { PreparedPush } from './push-target.ts'

type Pushed = Pick<PreparedPush, 'jid' | 'destination' | 'payload'>

/** Adds the event of each push, as `addPushEvent` does. */
export function addPushEvents(all: readonly PreparedPush[], now: number): void {
  let template: Payload | undefined
  let about = ''
  for (const pushed of all) {
    const { jid, destination, payload } = pushed
    if (payload === template) {
      // Pushes that share their payload differ only in their arguments and jids.
      addEffect(destination, { kind: 'record', jid, about })
      continue
    }
    addPushEvent(pushed, now)
    const record = destination.effects?.at(-1)
    if (record?.kind === 'record') {
      template = payload
      about = record.about
    }
  }
}

/** Adds the event of a push to what the store changes with it. A row of a task has the event of its task instead. */
export function addPushEvent(pushed: Pushed, now: number): void {
  if (isRecorded(pushed.payload)) addEffect(pushed.destination, eventOf(pushed, now))
}

function addEffect(destination: PushItem, effect: RecordEffect): void {
  destination.effects = destination.effects ? [...destination.effects, effect] : [effect]
}

/** Adds the events of the jobs of batches. */
export function addBatchEvents({ members }: BatchPush, now: number): void {
  for (const { id: jid, item } of members) {
    const payload = item && readPayload(item.text)
    if (payload) addPushEvent({ jid, destination: item, payload }, now)
  }
}

export function eventOf({ jid, destination, payload }: Pushed, now: number): RecordEffect {
  const due = 'score' in destination ? { due: Math.round(destination.score * 1000) } : undefined
  const { class: name, wrapped, queue } = payload
  return recordOf('pushed', { jid, class: name, wrapped }, queue, now, 0, due)
}
