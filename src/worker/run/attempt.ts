/** One attempt at a job. */

import { JobContext, type TaskOfJob } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import { type Payload, readPayload } from '../../job/payload.ts'
import type { FetchedJob } from '../../store/contract.ts'
import { definitionOf, type Engine } from '../engine.ts'
import type { Outcome } from '../plugin.ts'

/** A job that was taken, ready to run. */
export interface Attempt {
  fetched: FetchedJob
  payload: Payload
  ctx: JobContext
  definition: JobDefinition | undefined
  startedAt: number
  /**
   * The time on the monotonic clock at which its job was known to be this worker's and its handler was called; 0
   * before.
   */
  began: number
  /** The how-many-th it is that its worker took. */
  slot: number
  /** How it ended, if its job did. */
  outcome: Outcome | undefined
  /** Its rows, where it was several and each has an end of its own. */
  rows?: readonly Attempt[]
}

/** Reads a job; undefined when its text is no job at all. */
export function openAttempt(engine: Engine, fetched: FetchedJob, slot = 0): Attempt | undefined {
  const payload = readPayload(fetched.text)
  if (!payload) return undefined
  let task: TaskOfJob | undefined
  for (const plugin of engine.plugins) task ??= plugin.taskOf?.(payload)
  return {
    fetched,
    payload,
    ctx: new JobContext(payload, fetched.queue, {
      log: engine.log,
      attributes: engine.loggedJobAttributes,
      now: engine.now,
      task,
      isStopping: engine.isStopping,
    }),
    definition: definitionOf(engine, payload, fetched.queue),
    startedAt: engine.now(),
    began: 0,
    slot,
    outcome: undefined,
  }
}
