/** What a process works on, as Sidekiq writes it: the payload is JSON inside JSON, the time in whole seconds. */

import { memberText } from '../../job/json.ts'
import type { RunningJob } from '../contract.ts'

export function shown({ slot, queue, text, startedAt }: RunningJob): [string, string] {
  return [slot, JSON.stringify({ queue, payload: text, run_at: Math.floor(startedAt / 1000) })]
}

/** Version 6.0.1 and older had the payload as it is. Undefined: it is nothing of the kind. */
export function runningOf(slot: string, value: string): RunningJob | undefined {
  try {
    const { queue, payload, run_at } = JSON.parse(value) as Record<string, unknown>
    const text = typeof payload === 'string' ? payload : memberText(value, 'payload')
    if (text === undefined) return undefined
    return { slot, queue: typeof queue === 'string' ? queue : '', text, startedAt: Number(run_at ?? 0) * 1000 || 0 }
  } catch {
    return undefined
  }
}
