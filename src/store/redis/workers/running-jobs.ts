/** Running jobs as Sidekiq writes them: `payload` is JSON inside JSON, `run_at` is in whole seconds. `progress` is ours. */

import { memberText } from '../../../job/json.ts'
import type { RunningJob } from '../../contract.ts'

export function runningField({ slot, queue, text, startedAt, progress }: RunningJob): [string, string] {
  return [slot, JSON.stringify({ queue, payload: text, run_at: Math.floor(startedAt / 1000), progress })]
}

/** Reads a field, also of Sidekiq 6.0.1 and older, whose payload is an object. Returns undefined for anything else. */
export function runningOf(slot: string, value: string): RunningJob | undefined {
  try {
    const { queue, payload, run_at, progress } = JSON.parse(value) as Record<string, unknown>
    const text = typeof payload === 'string' ? payload : memberText(value, 'payload')
    if (text === undefined) return undefined
    const job = {
      slot,
      queue: typeof queue === 'string' ? queue : '',
      text,
      startedAt: Number(run_at ?? 0) * 1000 || 0,
    }
    return isProgress(progress) ? { ...job, progress } : job
  } catch {
    return undefined
  }
}

function isProgress(value: unknown): value is NonNullable<RunningJob['progress']> {
  return typeof (value as { done?: unknown } | undefined)?.done === 'number'
}
