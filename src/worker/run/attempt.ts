/** One attempt at a job. */

import { JobContext, type Progress, type TaskOfJob } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import { type AttemptMessage, messagesAfter } from '../../job/messages.ts'
import { attemptEnded, type Payload, readPayload } from '../../job/payload.ts'
import type { FetchedJob, ReleaseSlotEffect } from '../../store/contract.ts'
import { definitionOf, type Engine } from '../engine.ts'
import type { Outcome } from '../plugin.ts'

/** A fetched job, ready to run. */
export interface Attempt {
  fetched: FetchedJob
  payload: Payload
  ctx: JobContext
  definition: JobDefinition | undefined
  startedAt: number
  /**
   * When the lease was last known to hold and the handler was called, on the monotonic clock; 0 before.
   */
  began: number
  /** A number that no other running job of this worker has; it grows from job to job. */
  slot: number
  /** Whether its job may have limits. */
  mayBeLimited: boolean
  /** How the attempt ended; undefined while it runs. */
  outcome: Outcome | undefined
  /** Releases the slots that the attempt may have taken of its limits. */
  slotReleases?: readonly ReleaseSlotEffect[]
  /** The names of the limits that let the attempt start. */
  limitNames?: readonly string[]
  /** When the attempt ended, on the monotonic clock; 0 before. */
  ended: number
  /** When the attempt ended, if its end may be recorded as an event. */
  endedAt?: number
  /** Whether the event of its start was sent, or waits to be sent. */
  isStartRecorded?: true
  /** The progress whose event was sent, or waits to be sent. */
  recordedProgress?: Progress
  /** The rows of a job with several rows, once each is settled on its own. */
  rows?: readonly Attempt[]
}

/** Reads a fetched job. Returns undefined when its text is not a job. */
export function openAttempt(engine: Engine, fetched: FetchedJob, slot = 0): Attempt | undefined {
  const payload = readPayload(fetched.text)
  if (!payload) return undefined
  let task: TaskOfJob | undefined
  for (const plugin of engine.plugins.concerned(payload).taskOf) task ??= plugin.taskOf(payload)
  const definition = definitionOf(engine, payload, fetched.queue)
  return {
    fetched,
    payload,
    ctx: new JobContext(payload, fetched.queue, engine, task),
    definition,
    mayBeLimited: engine.sharedLimits.areInUse || definition?.options.limit !== undefined,
    startedAt: engine.now(),
    began: 0,
    slot,
    ended: 0,
    outcome: undefined,
  }
}

/** Returns the members that change in the text of the job when this attempt ends: as `attemptEnded`, and its messages. */
export function membersAtEnd(attempt: Attempt, crashed = false): Partial<Payload> {
  const messages = ownMessages(attempt)
  return { ...attemptEnded(attempt.payload, crashed), ...(messages && { hk_messages: messages }) }
}

/** Returns the messages of the job after this attempt; undefined if it added none, or if the messages are in an event. */
export function ownMessages({ payload, ctx }: Attempt): AttemptMessage[] | undefined {
  if (!ctx.hasMessages || payload.hk_task !== undefined) return undefined
  return messagesAfter(payload.hk_messages, ctx.messages)
}
