/** Unwraps and wraps jobs of Rails' ActiveJob, which pass through Sidekiq in a wrapper. */

import { randomUUID } from 'node:crypto'
import { type PushRequest, timeToRun } from '../client/request.ts'
import type { JobContext } from '../job/context.ts'
import { type ActiveJobEnvelope, sidekiqOf, type Wire } from '../job/payload.ts'
import { decode, encode } from './serial.ts'

/** The wrapper of Sidekiq 8, and that of Rails, which older Sidekiqs use. */
const WRAPPERS = ['Sidekiq::ActiveJob::Wrapper', 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper'] as const

/** Gives the handler the job's own arguments and `ctx.activeJob`. A job that is not from ActiveJob stays as it is. */
export function unwrap(ctx: JobContext, onUnknown: (serializer: string) => void): void {
  const { payload } = ctx
  if (!WRAPPERS.some((name) => name === payload.class)) return
  const [envelope] = payload.args as [Partial<ActiveJobEnvelope> | null | undefined]
  if (typeof envelope !== 'object' || envelope === null || !Array.isArray(envelope.arguments)) return
  ctx.activeJob = envelope as ActiveJobEnvelope
  ctx.args = decode(envelope.arguments, onUnknown)
}

/** Returns the push of a job that Rails runs. `queue` is the queue of a request without one. */
export function wrap(request: PushRequest, about: { queue: string; wire: Wire; now: number }): PushRequest {
  const { class: name, args, queue = about.queue, priority = null, locale = null } = request
  const at = timeToRun(request, about.now)
  const envelope: ActiveJobEnvelope = {
    job_class: name,
    job_id: randomUUID(),
    provider_job_id: null,
    queue_name: queue,
    priority: priority as number | null,
    arguments: encode(args),
    executions: 0,
    exception_executions: {},
    // Without them Rails takes its own.
    locale: locale as string | null,
    timezone: null,
    enqueued_at: new Date(about.now).toISOString(),
    scheduled_at: at === undefined ? null : new Date(at * 1000).toISOString(),
  }
  const wrapper = WRAPPERS[sidekiqOf(about.wire) === 8 ? 0 : 1]
  return { ...request, class: wrapper, wrapped: name, queue, args: [envelope], priority: undefined }
}
