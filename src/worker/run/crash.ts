/** What becomes of a job whose process died while it ran, whoever gives it back. */

import { attemptEnded, editPayload, type Payload, readPayload, timeOf } from '../../job/payload.ts'
import type { Settlement } from '../../store/contract.ts'
import { definitionOf, type Engine } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import { keepOutcome } from './results.ts'

const MAX_STALLS = 3
const STALLED = 'Stalled'

export interface Crash {
  to: NonNullable<Settlement['move']>
  outcome: Extract<Outcome, { kind: 'restored' | 'stalled-out' }>
}

/** To the front of its queue; to the dead set when this was its last stall. */
export function crashOf(engine: Engine, { queue, text }: { queue: string; text: string }, payload: Payload): Crash {
  const { now, wire } = engine
  const changes = attemptEnded(payload, true)
  const stalls = changes.hk_stalls as number
  if (stalls < (definitionOf(engine, payload, queue)?.options.maxCrashes ?? MAX_STALLS)) {
    const to = { to: 'queue', queue, text: editPayload(text, changes), end: 'front' } as const
    return { to, outcome: { kind: 'restored', stalls } }
  }
  const error_message = `its process died ${stalls} times in a row while it ran`
  const last = { ...changes, error_class: STALLED, error_message, failed_at: timeOf(now(), wire) }
  const to = { to: 'dead', text: editPayload(text, last, wire), score: now() / 1000 } as const
  return { to, outcome: { kind: 'stalled-out', stalls } }
}

/** If that was its last stall, whoever wants to hear of deaths does. */
export async function reportCrashedOut(engine: Engine, queue: string, to: Settlement['move']): Promise<void> {
  const payload = to?.to === 'dead' ? readPayload(to.text) : undefined
  if (payload?.error_class !== STALLED) return
  const error = Object.assign(new Error(payload.error_message), { name: STALLED })
  await engine.died(payload, error)
  await keepOutcome(engine, payload, definitionOf(engine, payload, queue), { kind: 'dead', error })
}
