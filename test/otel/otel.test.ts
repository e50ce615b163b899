import {
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { BusinessFailure } from 'highkiq'
import { instrument, type OtelOptions } from 'highkiq/otel'
import { fake } from 'highkiq/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Collector, until } from '../engine/bench.ts'

// The SDK has one context manager and one propagator for the process.
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})
afterAll(() => {
  context.disable()
  propagation.disable()
  metrics.disable()
})

interface Traced extends Bench {
  tracerProvider: TracerProvider
  /** The ended spans with this name, once there are `n`. */
  spans(name: string, n?: number): Promise<ReadableSpan[]>
  /** The data points of a metric. */
  points<Value>(name: string): Promise<DataPoint<Value>[]>
}

function traced(options: OtelOptions = {}, b: Bench = bench()): Traced {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  onTestFinished(async () => {
    await tracerProvider.shutdown()
    await meterProvider.shutdown()
  })
  instrument(b.hq, { tracerProvider, meterProvider, ...options })
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)
  return {
    ...b,
    tracerProvider,
    async spans(name, n = 1) {
      await until(() => named(name).length >= n)
      return named(name)
    },
    async points<Value>(name: string) {
      await meterProvider.forceFlush()
      const all =
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
      return (all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []) as DataPoint<Value>[]
    },
  }
}

const traceOf = (span: ReadableSpan | undefined) => span?.spanContext().traceId
const only = <T>(list: readonly T[]): T => {
  expect(list).toHaveLength(1)
  return list[0] as T
}

test('the span of a run is linked to that of its push, and both have the attributes of the conventions', async () => {
  const { hq, tracerProvider, spans, queue, work } = traced()
  const Hard = hq.job('HardJob', { queue: 'default' }, async () => {
    tracerProvider.getTracer('app').startSpan('inside').end()
  })
  const request = tracerProvider.getTracer('app').startSpan('GET /')
  const jid = await context.with(trace.setSpan(ROOT_CONTEXT, request), () => Hard.performAsync())
  request.end()

  const push = only(await spans('send default'))
  expect(push.kind).toBe(SpanKind.PRODUCER)
  expect(push.parentSpanContext?.spanId).toBe(request.spanContext().spanId)
  expect(push.attributes).toEqual({
    'messaging.system': 'highkiq',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'default',
    'messaging.message.id': jid,
    'highkiq.job.class': 'HardJob',
  })
  const { traceId, spanId } = push.spanContext()
  // The members that OpenTelemetry for Ruby reads from a Sidekiq job.
  expect(await queue()).toMatchObject([{ traceparent: `00-${traceId}-${spanId}-01` }])

  // The worker starts inside a span, which is no parent of its jobs.
  await context.with(trace.setSpan(ROOT_CONTEXT, request), () => work())
  const run = only(await spans('process default'))
  expect(run.kind).toBe(SpanKind.CONSUMER)
  expect(run.parentSpanContext).toBeUndefined()
  expect(traceOf(run)).not.toBe(traceId)
  expect(run.links.map((link) => link.context.spanId)).toEqual([spanId])
  expect(run.attributes).toEqual({
    'messaging.system': 'highkiq',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'default',
    'messaging.message.id': jid,
    'highkiq.job.class': 'HardJob',
    'highkiq.job.attempt': 1,
    'highkiq.job.outcome': 'done',
  })
  const inside = only(await spans('inside'))
  expect(inside.parentSpanContext?.spanId).toBe(run.spanContext().spanId)
})

test('a run can be in the trace of its push, or unrelated, and spans can be named by the job', async () => {
  const child = traced({ propagation: 'child', spanNames: 'job' })
  child.hq.job('A', async () => {})
  await child.hq.push({ class: 'A', args: [] })
  await child.work()
  const [push, run] = [only(await child.spans('send A')), only(await child.spans('process A'))]
  expect(run.parentSpanContext?.spanId).toBe(push.spanContext().spanId)
  expect([traceOf(run), run.links]).toEqual([traceOf(push), []])

  const none = traced({ propagation: 'none' })
  none.hq.job('A', async () => {})
  await none.hq.push({ class: 'A', args: [] })
  await none.work()
  const alone = only(await none.spans('process default'))
  expect([alone.parentSpanContext, alone.links]).toEqual([undefined, []])
})

test('the pushes of a transaction have spans, and reject nobody when it is rolled back', async () => {
  const { hq, spans } = traced({}, bench({ query: '?synchronous=normal' }))
  const A = hq.job('A', async (_ctx, _n: number) => {})
  const Sync = hq.ordered('Sync', { shards: 1 }, async () => {})
  await hq.transaction(() => void A.performAsync(1))
  const back = hq.transaction(() => {
    void A.performAsync(2)
    void A.performBulk([[3], [4]])
    void Sync.performAsync({ id: 1, payload: 1 })
    throw new Error('back')
  })
  await expect(back).rejects.toThrow('back')
  const [stored, ...others] = await spans('send default', 3)
  expect(stored?.status.code).toBe(SpanStatusCode.UNSET)
  expect(others.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR])
  expect(only(await spans('send Sync')).status.code).toBe(SpanStatusCode.ERROR)
})

test('a bulk is one span with the number of its jobs, to which all of their runs link', async () => {
  const { hq, spans, work } = traced()
  const A = hq.job('A', async (_ctx, _n: number) => {})
  await A.performBulk([[1], [2], [3]])
  const push = only(await spans('send default'))
  expect(push.attributes['messaging.batch.message_count']).toBe(3)
  expect(push.attributes).not.toHaveProperty('messaging.message.id')
  await work()
  const runs = await spans('process default', 3)
  expect(new Set(runs.flatMap(({ links }) => links.map((link) => link.context.spanId)))).toEqual(
    new Set([push.spanContext().spanId]),
  )
})

test('a retry, a scheduled job and a push from inside a handler keep their trace', async () => {
  const { hq, spans, clock, work } = traced()
  let runs = 0
  const Next = hq.job('Next', async () => {})
  const First = hq.job('First', { retryIn: 0 }, async () => {
    if (runs++ === 0) throw new TypeError('first time')
    await Next.performAsync()
  })
  await First.performIn(60)
  const push = only(await spans('send default'))
  clock.ahead = 120
  await work()
  const all = await spans('process default', 3)
  // The inner job can end before the run that pushed it.
  const [failed, second] = all.filter(({ attributes }) => attributes['highkiq.job.class'] === 'First')
  const next = all.find(({ attributes }) => attributes['highkiq.job.class'] === 'Next')
  for (const run of [failed, second]) expect(run?.links[0]?.context.spanId).toBe(push.spanContext().spanId)
  expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'first time' })
  expect(failed?.attributes).toMatchObject({ 'error.type': 'TypeError', 'highkiq.job.outcome': 'error' })
  expect(failed?.events[0]).toMatchObject({ name: 'exception', attributes: { 'exception.message': 'first time' } })
  expect(second?.attributes).toMatchObject({ 'highkiq.job.attempt': 2 })
  // The inner push is in the trace of the run that made it.
  const [, inner] = await spans('send default', 2)
  expect(inner?.parentSpanContext?.spanId).toBe(second?.spanContext().spanId)
  expect(next?.links[0]?.context.spanId).toBe(inner?.spanContext().spanId)
})

test('a business failure is an outcome and no error', async () => {
  class Refused extends Error {}
  const { hq, spans, work } = traced()
  hq.businessErrors(Refused)
  hq.job('A', async (_ctx, declared: boolean) => {
    throw declared ? new Refused('no') : new BusinessFailure('no')
  })
  await hq.pushBulk({ class: 'A', args: [[true], [false]] })
  await work()
  for (const { attributes, status } of await spans('process default', 2)) {
    expect(attributes['highkiq.job.outcome']).toBe('business-failure')
    expect(status.code).toBe(SpanStatusCode.UNSET)
  }
})

test('a push that is refused is a span with its error, and a job that middleware stopped counts as none sent', async () => {
  const { hq, spans, points } = traced()
  const A = hq.job('A', async (_ctx, _what: unknown) => {})
  await expect(A.performAsync(new Date())).rejects.toThrow('args[0] is a Date')
  const failed = only(await spans('send default'))
  expect(failed.status.code).toBe(SpanStatusCode.ERROR)
  expect(failed.attributes['error.type']).toBe('HighkiqError')
  await A.via(hq.client.with(() => null)).performAsync(1)
  await A.performBulk([[1], [2]])
  const sent = await points<number>('messaging.client.sent.messages')
  expect(sent.map(({ value }) => value)).toEqual([2])
})

test('rows of a task link to the span that was active when the task was created, also those added later', async () => {
  const { hq, tracerProvider, spans, work } = traced()
  const A = hq.job('A', async (_ctx, _n: number) => {})
  const request = tracerProvider.getTracer('app').startSpan('POST /import')
  const task = await context.with(trace.setSpan(ROOT_CONTEXT, request), () => hq.tasks.create(A, [[1], [2]]))
  await task.add(A, [[3]])
  await work()
  const runs = await spans('process default', 3)
  expect(runs.map(({ links }) => links.map((link) => link.context.spanId))).toEqual(
    Array(3).fill([request.spanContext().spanId]),
  )
})

test('an ordered batch is a span with the number of its ids, and its push one without a trace in the payload', async () => {
  const { hq, spans, work } = traced()
  const seen = new Collector<unknown>()
  const Sync = hq.ordered('Sync', { shards: 1 }, async (_ctx, batch: Map<string, number[]>) => seen.add([...batch]))
  await Sync.performAsync([{ id: 1, payload: 1 }])
  expect(only(await spans('send Sync')).attributes).toMatchObject({
    'highkiq.job.class': 'Sync',
    'messaging.batch.message_count': 1,
  })
  await work()
  expect(await seen.atLeast(1)).toEqual([[['1', [1]]]])
  expect(only(await spans('process Sync')).attributes).toMatchObject({ 'messaging.batch.message_count': 1 })
})

test('runs, waits, pushes and queues are measured', async () => {
  const { hq, points, clock, work, settled } = traced({ queueMetrics: true })
  const A = hq.job('A', { retry: false }, async (_ctx, fails: boolean) => {
    if (fails) throw new TypeError('broken')
  })
  await A.performAsync(false)
  await A.performAsync(true)
  const sizes = await points<number>('highkiq.queue.size')
  expect(sizes).toMatchObject([{ value: 2, attributes: { 'messaging.destination.name': 'default' } }])
  clock.ahead = 7
  await work()
  await settled()
  const about = {
    'messaging.system': 'highkiq',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'default',
    'highkiq.job.class': 'A',
  }
  const counted = await points<number>('messaging.client.consumed.messages')
  expect(counted.map(({ attributes, value }) => [attributes, value])).toEqual(
    expect.arrayContaining([
      [about, 1],
      [{ ...about, 'error.type': 'TypeError' }, 1],
    ]),
  )
  expect(await points<Histogram>('messaging.process.duration')).toHaveLength(2)
  const waited = only(await points<Histogram>('highkiq.job.wait.duration'))
  expect(waited.value.count).toBe(2)
  expect(waited.value.min).toBeGreaterThanOrEqual(7)
  const [sent] = await points<Histogram>('messaging.client.operation.duration')
  expect(sent?.value.count).toBe(2)
  const states = await points<number>('highkiq.jobs')
  expect(Object.fromEntries(states.map(({ attributes, value }) => [attributes['highkiq.job.state'], value]))).toEqual({
    ...{ enqueued: 0, busy: 0, scheduled: 0, retries: 0, dead: 0 },
  })
})

test('a trace that another program wrote into the job is kept and linked to, and garbage is not', async () => {
  const { hq, spans, raw, work, queue } = traced()
  hq.job('A', async () => {})
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await hq.push({ class: 'A', args: [], traceparent, tracestate: 'ruby=1' })
  expect(await queue()).toMatchObject([{ traceparent, tracestate: 'ruby=1' }])
  await raw('{"class":"A","args":[],"jid":"b","queue":"default","traceparent":[7]}')
  await raw('{"class":"A","args":[],"jid":"c","queue":"default","traceparent":"garbage"}')
  await work()
  const runs = await spans('process default', 3)
  expect(runs.map(({ links }) => links.length).sort()).toEqual([0, 0, 1])
  expect(runs.flatMap(({ links }) => links)[0]?.context).toMatchObject({ spanId: 'b7ad6b7169203331' })
})

test('pushes in a test mode have spans', async () => {
  const { hq, spans } = traced()
  const A = hq.job('A', async () => {})
  await fake(hq, async () => {
    await A.performAsync()
    await A.drain()
  })
  await spans('send default')
})

test('wrong options and a second call are refused', () => {
  const { hq } = bench()
  expect(() => instrument(hq, { propagation: 'parent' as never })).toThrow(
    `instrument: propagation must be one of 'link', 'child', 'none' (got "parent")`,
  )
  expect(() => instrument(hq, { meterProvider: {} as never })).toThrow('a provider with a method getMeter')
  expect(() => instrument({} as never)).toThrow('the first argument must be an app')
  instrument(hq)
  expect(() => instrument(hq)).toThrow('instrumented already')
})
