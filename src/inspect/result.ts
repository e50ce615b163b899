/** Waits for the result of a job. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import type { JobDefinition } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { checkOptions, checkText } from '../job/options.ts'
import { jobFailed, KEEPS_RESULT, readEnd } from '../job/result.ts'
import type { EventRecord } from '../store/contract.ts'

export interface ResultOptions {
  /** Seconds to wait for the end of the job; default 60. With 0 it does not wait. */
  timeout?: number
  signal?: AbortSignal
}

const STANDARD_SECONDS = 60
/** The first and the longest pause between two reads of the event of a row. */
const FIRST_LOOK_MS = 20
const LAST_LOOK_MS = 1000

/**
 * Resolves with the result of a job. When `definition`, that of the job, keeps no results, it does not wait for one.
 * @throws JOB_FAILED when the job failed and will not run again, NO_RESULT when there is no result in time,
 * INVALID_OPTION
 */
export async function resultOf(
  app: Pick<AppPort, 'store' | 'client'>,
  jid: string | null,
  options: ResultOptions,
  definition?: JobDefinition,
): Promise<unknown> {
  if (jid === null) throw new HighkiqError('NO_RESULT', 'client middleware stopped the push: there is no job')
  checkText('hq.result: a jid', jid)
  checkOptions('hq.result', options, { timeout: 'secondsOrZero', signal: 'signal' })
  const { timeout = STANDARD_SECONDS, signal } = options
  signal?.throwIfAborted()
  const inTest = app.client.testing.current?.endOf(jid)
  if (inTest && 'text' in inTest) return readEnd(jid, inTest.text)
  if (inTest) throw new HighkiqError('NO_RESULT', `no result of job ${jid}: ${inTest.none}`, { jid })
  const { store } = app
  const end = performance.now() + timeout * 1000
  let event = await store.tasks.event(jid)
  for (let pause = FIRST_LOOK_MS; event; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
    if (event.status !== 'enqueued' && event.status !== 'working') return resultOfRow(event)
    const left = end - performance.now()
    if (left <= 0) throw none(jid, timeout, 'its row has not ended')
    await sleep(Math.min(pause, left), undefined, signal ? { signal } : {})
    event = await store.tasks.event(jid)
  }
  const keepsNone = definition !== undefined && definition.options.keepResult === undefined
  // Another process may have another version of the definition.
  const text = await store.results.find(jid, keepsNone ? 0 : Math.max(end - performance.now(), 0), signal)
  signal?.throwIfAborted()
  if (text !== null) return readEnd(jid, text)
  if (keepsNone) {
    throw new HighkiqError('NO_RESULT', `no result of job ${jid}: ${definition.name} keeps none; ${KEEPS_RESULT}`, {
      jid,
    })
  }
  throw none(jid, timeout, `it has not ended, it is unknown, or its result is not kept (any more): ${KEEPS_RESULT}`)
}

function resultOfRow({ jid, status, result, code, messages }: EventRecord): unknown {
  if (status === 'finished') return result === null ? undefined : parseJson(result)
  const { params, code: word } = messages.at(-1) ?? {}
  const message = String(params?.message ?? params?.text ?? word ?? status)
  throw jobFailed(jid, code === null ? { message } : { message, code })
}

function none(jid: string, timeout: number, why: string): HighkiqError {
  return new HighkiqError('NO_RESULT', `no result of job ${jid} within ${timeout} s: ${why}`, { jid })
}
