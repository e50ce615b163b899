/** Jobs of Rails' ActiveJob: taken out of the wrapper in which they come through Sidekiq, and put into it. */

import { randomUUID } from 'node:crypto'
import { type PushRequest, timeToRun } from '../client/request.ts'
import type { JobContext } from '../job/context.ts'
import { type ActiveJobEnvelope, sidekiqOf, type Wire } from '../job/payload.ts'
import { decode, encode } from './serial.ts'

/** Sidekiq 8's, and that of Rails, which Sidekiq before 8 has. */
const WRAPPERS = ['Sidekiq::ActiveJob::Wrapper', 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper'] as const

/** Gives the handler what the job was made with, and `ctx.activeJob`. What is not from ActiveJob stays as it is. */
export function unwrap(ctx: JobContext, onUnknown: (serializer: string) => void): void {
  const { payload } = ctx
  if (!WRAPPERS.some((name) => name === payload.class)) return
  const [envelope] = payload.args as [Partial<ActiveJobEnvelope> | null | undefined]
  if (typeof envelope !== 'object' || envelope === null || !Array.isArray(envelope.arguments)) return
  ctx.activeJob = envelope as ActiveJobEnvelope
  ctx.args = decode(envelope.arguments, onUnknown)
}

/** The push of a job that Rails runs. `queue`: where it goes when the request does not say. */
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
