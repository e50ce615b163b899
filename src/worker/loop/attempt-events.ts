/** The events of attempts that run in this process. */

import { isRecorded, recordOf, recordsOf } from '../../events/job-event.ts'
import type { RecordEffect, Settlement } from '../../store/contract.ts'
import type { Attempt } from '../run/attempt.ts'

/** Returns the event of a start, to be sent with the next call; undefined if the start was recorded before. */
export function startToRecord(attempt: Attempt): RecordEffect | undefined {
  if (attempt.isStartRecorded || !isRecorded(attempt.payload)) return undefined
  attempt.isStartRecorded = true
  return startOf(attempt)
}

/** Returns the event of an attempt's progress, to be sent with the next call; undefined if there is no new progress. */
export function progressToRecord(attempt: Attempt, now: number): RecordEffect | undefined {
  const { ctx, payload, recordedProgress } = attempt
  const { progressed } = ctx
  if (!progressed || progressed === recordedProgress || !isRecorded(payload)) return undefined
  attempt.recordedProgress = progressed
  return recordOf('progress', payload, ctx.queue, now, ctx.attempt, { progress: progressed })
}

/** Returns the events of an attempt that has ended, with those of its start and progress that were not sent before. */
export function eventsOfEnd(attempt: Attempt, now: number): RecordEffect[] {
  const { ctx, payload, outcome, began, isStartRecorded, recordedProgress, endedAt = now } = attempt
  if (!isRecorded(payload)) return []
  const { attempt: number, progressed: progress } = ctx
  const hasStarted = began > 0
  const recordsStart = hasStarted && !isStartRecorded
  const hasProgress = progress !== undefined && progress !== recordedProgress
  const attemptNumber = hasStarted ? number : undefined
  const end = (startedAt?: number) =>
    outcome ? recordsOf(outcome, payload, ctx.queue, endedAt, attemptNumber, startedAt) : []
  if (recordsStart && !hasProgress) {
    const records = end(attempt.startedAt)
    if (records.length > 0) return records
  }
  return [
    ...(recordsStart ? [startOf(attempt)] : []),
    ...(hasProgress ? [recordOf('progress', payload, ctx.queue, endedAt, number, { progress })] : []),
    ...end(),
  ]
}

/** Returns a settlement that also records the events of its attempt's end. */
export function withEvents(settlement: Settlement, attempt: Attempt | undefined, now: number): Settlement {
  const records = attempt ? eventsOfEnd(attempt, now) : []
  if (records.length === 0) return settlement
  return { ...settlement, effects: settlement.effects ? [...settlement.effects, ...records] : records }
}

function startOf({ ctx, payload, startedAt }: Attempt): RecordEffect {
  return recordOf('started', payload, ctx.queue, startedAt, ctx.attempt)
}
