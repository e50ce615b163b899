/** Records what happens to jobs without an attempt in this process: those that are rescued, cancelled or moved by hand. */

import type { Plugin } from '../worker/plugin.ts'
import { isRecorded, recordsOf } from './job-event.ts'
import type { Recording } from './recording.ts'

export function eventPlugin(recording: () => Recording): Plugin {
  return {
    // The worker adds the events of its attempts when it sends their settlements.
    concerns: ['no-attempt'],
    effects(payload, outcome, now) {
      if (!isRecorded(payload) || !recording().mayBeOn()) return undefined
      const records = recordsOf(outcome, payload, payload.queue, now())
      return records.length > 0 ? records : undefined
    },
  }
}
