/** The stored result of a job: what its handler returned, or how the job failed. */

import { checkReadable } from './args.ts'
import type { JobDefinition } from './definition.ts'
import { HighkiqError, messageOf } from './errors.ts'
import { parseJson, stringifyJson } from './json.ts'

declare const RESULT: unique symbol

/** The id of a job, a text. Its type knows what the handler returns, so that `hq.result(jid)` does, too. */
export type Jid<Result = unknown> = string & { readonly [RESULT]?: Result }

/** Says in errors how a job gets a result. */
export const KEEPS_RESULT = 'a job keeps one that says keepResult (seconds) where it is defined'

/** Returns whether the store may have a result of a job. Without a definition another process may have one. */
export function mayKeepResult(definition: JobDefinition | undefined): boolean {
  return definition === undefined || definition.options.keepResult !== undefined
}

/** A larger result is not kept. */
const MAX_BYTES = 16_384

/** Returns a result as JSON, or why it can't be kept; neither when there is no result. */
export function resultText(result: unknown): { text?: string; problem?: string } {
  if (result === undefined) return {}
  let text: string | undefined
  try {
    text = stringifyJson(result)
  } catch {
    return { problem: 'its result was not kept: it is not JSON' }
  }
  if (text === undefined) return {}
  try {
    checkReadable(text, 'its result was not kept', { name: 'result' })
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
  if (Buffer.byteLength(text) > MAX_BYTES) {
    return { problem: `its result was not kept: it is larger than ${MAX_BYTES} bytes` }
  }
  return { text }
}

/** How a job ended that does not run again. */
export type End =
  | { result: string | undefined }
  /** The job is done, but its result could not be kept. */
  | { problem: string }
  | { failed: { message: string; class?: string; code?: string } }

/** The ends of jobs that did not fail, and have no result. */
export const NOT_RUN = {
  cancelled: { message: 'the job was cancelled', code: 'JOB_CANCELLED' },
  deleted: { message: 'the job was deleted', code: 'JOB_DELETED' },
  killed: { message: 'the job was moved to the dead set', code: 'JOB_KILLED' },
  filtered: { message: 'client middleware stopped the job', code: 'JOB_FILTERED' },
  expired: { message: 'the job could not start before its deadline', code: 'JOB_EXPIRED' },
}

export function writeEnd(end: End): string {
  if ('result' in end) return end.result === undefined ? '{}' : `{"result":${end.result}}`
  return JSON.stringify(end)
}

/** @returns the result @throws JOB_FAILED, NO_RESULT */
export function readEnd(jid: string, text: string): unknown {
  const end = parseJson(text) as {
    result?: unknown
    problem?: string
    failed?: Extract<End, { failed: object }>['failed']
  }
  if (end.problem !== undefined) throw new HighkiqError('NO_RESULT', `job ${jid} is done, but ${end.problem}`, { jid })
  if (end.failed) throw jobFailed(jid, end.failed)
  return end.result
}

export function jobFailed(jid: string, about: { message: string; class?: string; code?: string }): HighkiqError {
  return new HighkiqError('JOB_FAILED', `job ${jid} failed for good: ${about.message}`, { jid, ...about })
}
