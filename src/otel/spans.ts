/** Makes the spans of pushes and runs, and carries the trace from the one to the other in the job. */

import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  isSpanContextValid,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { ObservedPush, PushObserver } from '../client/push-observer.ts'
import type { JobContext } from '../job/context.ts'
import { classOf, messageOf, verdictOf } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import type { OrderedContext } from '../ordered/context.ts'
import {
  ATTEMPT,
  BATCH_SIZE,
  ERROR_TYPE,
  HIGHKIQ,
  JOB,
  MESSAGE_ID,
  OPERATION,
  OPERATION_TYPE,
  OUTCOME,
  QUEUE,
  SYSTEM,
} from './attributes.ts'
import type { RunMetrics } from './run-metrics.ts'

export interface SpanSettings {
  propagation: 'link' | 'child' | 'none'
  spanNames: 'queue' | 'job'
  isBusiness: (error: unknown) => boolean
}

/** The push that the current async context makes. */
interface Pushing extends ObservedPush {
  span: Span
  queue: string | undefined
}

const PUSHING = createContextKey('highkiq push')

/** The members of a job that propagators write: `traceparent` and `tracestate`, as OpenTelemetry for Ruby does. */
const members = {
  set(payload: Payload, name: string, value: string) {
    if (!Object.hasOwn(payload, name)) payload[name] = value
  },
  get(payload: Payload, name: string) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined
    return typeof value === 'string' ? value : undefined
  },
  keys: (payload: Payload) => Object.keys(payload),
}

export class Spans {
  readonly #tracer: Tracer
  readonly #metrics: RunMetrics
  readonly #settings: SpanSettings

  constructor(tracer: Tracer, metrics: RunMetrics, settings: SpanSettings) {
    this.#tracer = tracer
    this.#metrics = metrics
    this.#settings = settings
  }

  /** Adds the active trace to a payload, and the payload to the span of its push. */
  readonly carry = (payload: Payload): void => {
    const active = context.active()
    const pushing = active.getValue(PUSHING) as Pushing | undefined
    if (pushing && pushing.queue === undefined) {
      this.#setQueue(pushing, payload.queue, payload.wrapped ?? payload.class)
      if (!pushing.isBulk) pushing.span.setAttribute(MESSAGE_ID, payload.jid)
    }
    propagation.inject(active, payload, members)
  }

  /** Runs a push in a span. */
  readonly push: PushObserver = async (push, work) => {
    const name = String(push.class)
    const attributes = { [SYSTEM]: HIGHKIQ, [OPERATION]: 'send', [OPERATION_TYPE]: 'send', [JOB]: name }
    const span = this.#tracer.startSpan('send', { kind: SpanKind.PRODUCER, attributes })
    const pushing: Pushing = { ...push, span, queue: undefined }
    if (push.queue !== undefined) this.#setQueue(pushing, push.queue, name)
    const began = performance.now()
    const active = trace.setSpan(context.active(), span).setValue(PUSHING, pushing)
    const done = (count: number, error?: unknown) => {
      const ms = performance.now() - began
      this.#metrics.pushed({ class: name, queue: pushing.queue, count }, ms, error)
    }
    try {
      const result = await context.with(active, work)
      const count = countOf(result)
      if (push.isBulk) span.setAttribute(BATCH_SIZE, count)
      done(count)
      return result
    } catch (thrown) {
      fail(span, thrown)
      done(0, thrown)
      throw thrown
    } finally {
      span.end()
    }
  }

  /** Runs an attempt in a span: server middleware. */
  readonly run = async (ctx: JobContext, next: () => Promise<unknown>): Promise<unknown> => {
    const { propagation: how } = this.#settings
    const { payload, queue } = ctx
    const job = typeof payload.wrapped === 'string' ? payload.wrapped : payload.class
    // The worker may have been started inside a span, which has nothing to do with its jobs.
    const pushed = how === 'none' ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, payload, members)
    const links = how === 'link' ? linksTo(pushed) : []
    const parent = how === 'link' ? trace.deleteSpan(pushed) : pushed
    const attributes: Attributes = {
      ...{ [SYSTEM]: HIGHKIQ, [OPERATION]: 'process', [OPERATION_TYPE]: 'process', [QUEUE]: queue, [JOB]: job },
      [MESSAGE_ID]: ctx.jid,
      [ATTEMPT]: ctx.attempt,
    }
    const size = payload.hk_rows?.length ?? (ctx as Partial<OrderedContext>).ordered?.batch.length
    if (size !== undefined) attributes[BATCH_SIZE] = size
    const about = { kind: SpanKind.CONSUMER, attributes, links }
    const span = this.#tracer.startSpan(this.#nameOf('process', queue, job), about, parent)
    try {
      const result = await context.with(trace.setSpan(parent, span), next)
      this.#conclude(span, ctx)
      return result
    } catch (thrown) {
      this.#conclude(span, ctx, { thrown })
      throw thrown
    } finally {
      span.end()
    }
  }

  #conclude(span: Span, { abortReason }: JobContext, failure?: { thrown: unknown }): void {
    if (abortReason && abortReason.code !== 'JOB_TIMEOUT') {
      span.setAttribute(OUTCOME, abortReason.code === 'JOB_CANCELLED' ? 'cancelled' : 'interrupted')
      return
    }
    const error = abortReason ?? failure?.thrown
    if (!abortReason && !failure) {
      span.setAttribute(OUTCOME, 'done')
      return
    }
    const verdict = verdictOf(error) ?? (this.#settings.isBusiness(error) ? 'business-failure' : undefined)
    span.setAttribute(OUTCOME, verdict ?? 'error')
    if (verdict === undefined || verdict === 'kill' || verdict === 'batch-failure') fail(span, error)
  }

  #setQueue(pushing: Pushing, queue: string, job: string): void {
    pushing.queue = queue
    pushing.span.updateName(this.#nameOf('send', queue, job))
    pushing.span.setAttributes({ [QUEUE]: queue, [JOB]: job })
  }

  #nameOf(operation: string, queue: string, job: string): string {
    return `${operation} ${this.#settings.spanNames === 'queue' ? queue : job}`
  }
}

function fail(span: Span, thrown: unknown): void {
  const type = classOf(thrown)
  const message = messageOf(thrown)
  span.recordException(thrown instanceof Error ? thrown : { name: type, message })
  span.setAttribute(ERROR_TYPE, type)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}

function linksTo(pushed: Context): Link[] {
  const linked = trace.getSpanContext(pushed)
  return linked && isSpanContextValid(linked) ? [{ context: linked }] : []
}

/** Returns how many jobs a push has stored. */
function countOf(result: unknown): number {
  if (Array.isArray(result)) return result.filter((jid) => jid !== null).length
  return typeof result === 'number' ? result : result === null ? 0 : 1
}
