/** Actions on all jobs that match a filter. They stop when the client disconnects. */

import type { GenericSchema, InferOutput } from 'valibot'
import type { BulkResult, SweepOptions } from '../../index.ts'
import { codeOf } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import type { SchemaName } from '../schemas.ts'
import { errorBody, json } from '../server/answer.ts'
import { type Call, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { refusedBy } from './job-key.ts'

/** Stops and reports an action. */
type Following = Pick<SweepOptions, 'signal' | 'onProgress'>

interface FilterBody<Schema> {
  name: SchemaName
  schema: Schema
  isRequired?: boolean
}

const NDJSON = 'application/x-ndjson'
/** The shortest time between two lines of progress. */
const PROGRESS_MS = 250

/** @param actionOf checks the filter and returns the action */
export function sweepRoute<Schema extends GenericSchema>(
  path: string,
  id: string,
  summary: string,
  { name, schema, isRequired = false }: FilterBody<Schema>,
  actionOf: (call: Call, filter: InferOutput<Schema>) => (options: Following) => Promise<BulkResult>,
): Route {
  return post(path, {
    id,
    summary: `${summary}; closing the connection stops it`,
    body: { content: { 'application/json': name }, optional: !isRequired },
    answers: {
      200: {
        description: 'The result. As NDJSON: progress from time to time, and a last line with `ended: true`',
        content: { 'application/json': 'Sweeping', [NDJSON]: { type: 'string' } },
      },
    },
    async run(call) {
      const { server, request } = call
      // A wrong filter is refused: without it the action would apply to all jobs.
      const filter = await bodyOf(call, schema, 'a filter')
      const sweep = actionOf(call, filter)
      call.audit({ count: 0, filter })
      const leave = server.streams.enter()
      if (wantsLines(request)) return new Response(lines(call, sweep, leave), { headers })
      try {
        const onProgress = ({ done }: BulkResult) => call.audit({ count: done })
        return json(sweepingOf(await sweep({ signal: request.signal, onProgress }), true))
      } finally {
        leave()
      }
    },
  })
}

const headers = { 'content-type': NDJSON, 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

function lines(
  { hq, request, audit, deferAudit }: Call,
  sweep: (options: Following) => Promise<BulkResult>,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const gone = new AbortController()
  const writeAudit = deferAudit()
  const signal = AbortSignal.any([gone.signal, request.signal])
  const encoder = new TextEncoder()
  return new ReadableStream({
    async start(controller) {
      const write = (line: object) => {
        if (!signal.aborted) controller.enqueue(encoder.encode(`${stringifyJson(line)}\n`))
      }
      let sofar: BulkResult = { done: 0, refused: 0 }
      let writtenAt = performance.now()
      write(sweepingOf(sofar, false))
      const onProgress = (now: BulkResult) => {
        sofar = now
        audit({ count: now.done })
        if (performance.now() - writtenAt < PROGRESS_MS) return
        writtenAt = performance.now()
        write(sweepingOf(now, false))
      }
      // Not awaited, so that the client can read the progress.
      void sweep({ signal, onProgress })
        .then((result) => write(sweepingOf(result, true)))
        .catch((thrown) => {
          audit({ incomplete: true })
          if (signal.aborted) return
          if (!codeOf(thrown)) hq.log.error({ err: thrown }, 'an action on all jobs that match failed')
          const { message: error, ...rest } = errorBody(thrown)
          write({ ...sweepingOf(sofar, true), error, ...rest })
        })
        .finally(() => {
          leave()
          writeAudit()
          if (!signal.aborted) controller.close()
        })
    },
    cancel: () => gone.abort(),
  })
}

function sweepingOf({ done, refused, error }: BulkResult, ended: boolean) {
  return { done, refused, ...(error === undefined ? {} : refusedBy(error)), ended }
}

function wantsLines(request: Request): boolean {
  return (request.headers.get('accept') ?? '').toLowerCase().includes(NDJSON)
}
