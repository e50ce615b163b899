/**
 * OpenTelemetry: spans for pushes and runs, linked to each other, and metrics. It needs the package `@opentelemetry/api`.
 *
 * @module highkiq/otel
 * @example
 * import { instrument } from 'highkiq/otel'
 * instrument(hq)
 */

import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { type Highkiq, isApp, PORT, PROGRAM } from '../app.ts'
import { invalidOption } from '../job/errors.ts'
import { checkOptions, type OptionKind } from '../job/options.ts'
import { VERSION } from '../version.generated.ts'
import { QueueMetrics } from './queue-metrics.ts'
import { RunMetrics } from './run-metrics.ts'
import { Spans } from './spans.ts'

export interface OtelOptions {
  /** Default: the global one. */
  tracerProvider?: TracerProvider
  /** Default: the global one. */
  meterProvider?: MeterProvider
  /**
   * How the span of a run relates to that of its push. `link`: a trace of its own with a link to the push. `child`: in
   * the trace of the push. `none`: unrelated. Default `link`.
   */
  propagation?: 'link' | 'child' | 'none'
  /** The end of each span's name: the queue (`process default`, the default) or the job (`process HardJob`). */
  spanNames?: 'queue' | 'job'
  /**
   * Whether this process reports the sizes and latencies of all queues, and the sizes of the job sets. Turn it on in one
   * process: each reads them from the store. Default false.
   */
  queueMetrics?: boolean
}

const provider = (method: string): OptionKind => [
  (value) => typeof (value as Record<string, unknown> | null)?.[method] === 'function',
  `a provider with a method ${method}`,
]

const OPTIONS: Record<keyof OtelOptions, OptionKind> = {
  tracerProvider: provider('getTracer'),
  meterProvider: provider('getMeter'),
  propagation: ['link', 'child', 'none'],
  spanNames: ['queue', 'job'],
  queueMetrics: 'flag',
}

const instrumented = new WeakSet<Highkiq>()

/**
 * Instruments an app. Call it once, before other middleware is added, so that its spans are around that of the app.
 * @throws INVALID_OPTION
 */
export function instrument(hq: Highkiq, options: OtelOptions = {}): void {
  if (!isApp(hq)) throw invalidOption('instrument: the first argument must be an app, new Highkiq()')
  checkOptions('instrument', options, OPTIONS)
  if (instrumented.has(hq)) throw invalidOption('instrument: this app is instrumented already: call it once')
  instrumented.add(hq)
  const { tracerProvider, meterProvider, propagation = 'link', spanNames = 'queue', queueMetrics = false } = options
  const meter = (meterProvider ?? metrics).getMeter('highkiq', VERSION)
  const tracer = (tracerProvider ?? trace).getTracer('highkiq', VERSION)
  const app = hq[PORT]
  const runMetrics = new RunMetrics(meter)
  const isBusiness = (error: unknown) => hq[PROGRAM].isBusiness(error)
  const spans = new Spans(tracer, runMetrics, { propagation, spanNames, isBusiness })
  app.client.carry(spans.carry)
  app.client.observe(spans.push)
  app.addPlugin(runMetrics)
  hq.server.prepend(spans.run)
  if (queueMetrics) new QueueMetrics(meter, hq)
}
