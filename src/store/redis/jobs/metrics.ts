/** Counts of jobs by class and minute, and deploys, in Sidekiq's keys. */

import { HighkiqError } from '../../../job/errors.ts'
import {
  type Deploy,
  HISTOGRAM_BUCKETS,
  type JobHistogram,
  type JobSums,
  type MetricStore,
  type MetricsBatch,
  type Snapshot,
  type SnapshotSpan,
  type WaitCounts,
  type WaitSums,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { chunksOf } from '../server/chunks.ts'
import { StorePart } from '../server/server.ts'

const BATCH_SECONDS = 8 * 3600
const LONG_SECONDS = 3 * 86_400
const DAYS_SECONDS = 90 * 86_400
const DEPLOY_LOCK_SECONDS = 60
/** How long snapshots are kept, by minutes of their span. */
const SNAPSHOT_SECONDS = [
  [1, BATCH_SECONDS],
  [10, LONG_SECONDS],
  [1440, DAYS_SECONDS],
] as const

export class Metrics extends StorePart implements Partial<MetricStore> {
  async record({ source, number, at, jobs, waits = [] }: MetricsBatch): Promise<void> {
    const { metrics } = this.keys
    const call = this.server.newCall()
    call.key(metrics.lastBatch(source))
    const added = metrics.added(at)
    call.add(number, BATCH_SECONDS, LONG_SECONDS, added.length)
    for (const [key, seconds] of added) call.add(call.key(key), seconds)
    const fields = waits.flatMap(waitFields)
    call.add(fields.length > 0 ? call.key(metrics.waits(at)) : 0, fields.length, ...fields.flat())
    call.add(jobs.length)
    for (const { name, processed, failed, ms, histogram } of jobs) {
      const buckets = [...histogram.entries()].filter(([, count]) => count > 0)
      call.add(name, processed, failed, ms, buckets.length)
      if (buckets.length === 0) continue
      const [short, long] = [metrics.histogram(name, at), metrics.longHistogram(name, at)]
      call.add(call.key(short), call.key(long), ...buckets.flat())
    }
    const wrongs = await this.server.run(lua.recordMetrics, call.keys, call.args)
    if (wrongs) throw new HighkiqError('STORE_UNUSABLE', `${this.server.options.url}: ${wrongs}`)
  }

  async sums(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]> {
    const { metrics } = this.keys
    const keys = times.flatMap((at) => metrics.readable(span, at).map((key) => ({ at, key })))
    const fields = ['p', 'f', 'ms'].map((field) => `${name}|${field}`)
    const answers =
      name === undefined
        ? await this.server.hashes(keys.map(({ key }) => key))
        : await this.server.fields(
            keys.map(({ key }) => key),
            fields,
          )
    const sums = new Map<string, JobSums>()
    for (const [i, { at }] of keys.entries()) {
      const answer = answers[i] as unknown as Record<string, string> | (string | null)[]
      const counts = Array.isArray(answer)
        ? answer.map((count, k) => [fields[k] as string, count])
        : Object.entries(answer)
      for (const [field, count] of counts as [string, string | null][]) {
        if (count !== null) add(sums, at, field, Number(count))
      }
    }
    return [...sums.values()]
  }

  async histograms(...[span, wanted]: Parameters<MetricStore['histograms']>): Promise<JobHistogram[]> {
    const { metrics } = this.keys
    const keysOf = (name: string, at: number) =>
      span === 1 ? metrics.histograms(name, at) : [metrics.longHistogram(name, at)]
    const keys = wanted.flatMap(({ name, times }) =>
      times.flatMap((at) => keysOf(name, at).map((key) => ({ name, at, key }))),
    )
    const bytes = span === 1 ? 2 : 4
    const found = new Map<string, JobHistogram>()
    for (const some of chunksOf(keys, ({ key }) => key.length)) {
      const answers = await this.server.call((client) => client.mgetBuffer(...some.map(({ key }) => key)))
      for (const [i, { name, at }] of some.entries()) {
        const bits = answers[i]
        if (!bits) continue
        const id = `${at} ${name}`
        const { counts } = found.get(id) ?? { counts: Array<number>(HISTOGRAM_BUCKETS).fill(0) }
        for (let bucket = 0; bucket < HISTOGRAM_BUCKETS && (bucket + 1) * bytes <= bits.length; bucket++) {
          counts[bucket] = (counts[bucket] as number) + bits.readUIntBE(bucket * bytes, bytes)
        }
        found.set(id, { name, at, counts })
      }
    }
    return [...found.values()]
  }

  async waits(minutes: readonly number[], queue?: string): Promise<WaitSums[]> {
    const { metrics } = this.keys
    const fields =
      queue === undefined ? [] : ['ms', ...Array(HISTOGRAM_BUCKETS).keys()].map((what) => `${what}|${queue}`)
    const keys = minutes.map((at) => metrics.waits(at))
    const answers = queue === undefined ? await this.server.hashes(keys) : await this.server.fields(keys, fields)
    return minutes.flatMap((at, i) => {
      const answer = answers[i] as Record<string, string> | (string | null)[]
      if (!Array.isArray(answer)) return waitsOf(at, answer)
      const found = fields.flatMap((field, k) => (typeof answer[k] === 'string' ? [[field, answer[k]]] : []))
      return waitsOf(at, Object.fromEntries(found))
    })
  }

  async recordSnapshot(at: number, text: string): Promise<boolean> {
    const { metrics } = this.keys
    const [first] = await this.server.all((pipeline) => {
      for (const [span, seconds] of SNAPSHOT_SECONDS)
        pipeline.set(metrics.snapshot(span, at), text, 'EX', seconds, 'NX')
    })
    return first === 'OK'
  }

  snapshots(span: SnapshotSpan, times: readonly number[]): Promise<Snapshot[]> {
    return this.#texts(times, (at) => this.keys.metrics.snapshot(span, at))
  }

  async recordQueueSizes(span: 1 | 10, at: number, text: string): Promise<boolean> {
    const key = this.keys.metrics.queueSizes(span, at)
    const seconds = span === 1 ? BATCH_SECONDS : LONG_SECONDS
    return (await this.server.call((client) => client.set(key, text, 'EX', seconds, 'NX'))) === 'OK'
  }

  queueSizes(span: 1 | 10, times: readonly number[]): Promise<Snapshot[]> {
    return this.#texts(times, (at) => this.keys.metrics.queueSizes(span, at))
  }

  async #texts(times: readonly number[], keyOf: (at: number) => string): Promise<Snapshot[]> {
    const sorted = [...times].sort((a, b) => a - b)
    if (sorted.length === 0) return []
    const texts = await this.server.call((client) => client.mget(...sorted.map(keyOf)))
    return sorted.flatMap((at, i) => (typeof texts[i] === 'string' ? { at, text: texts[i] } : []))
  }

  async recordDeploy({ at, label }: Deploy): Promise<boolean> {
    const { metrics } = this.keys
    const stamp = `${new Date(at).toISOString().slice(0, 19)}Z`
    const keys = [metrics.deployLock(label), metrics.deploys(stamp.slice(0, 10))]
    return this.server.succeeds(lua.recordDeploy, keys, [stamp, label, DEPLOY_LOCK_SECONDS, DAYS_SECONDS])
  }

  async deploys(days: readonly string[]): Promise<Deploy[]> {
    const { metrics } = this.keys
    return (await this.server.hashes(days.map((day) => metrics.deploys(day))))
      .flatMap((labels) => Object.entries(labels))
      .map(([stamp, label]) => ({ at: Date.parse(stamp), label }))
      .filter(({ at }) => !Number.isNaN(at))
      .sort((a, b) => a.at - b.at)
  }
}

function waitFields({ queue, ms, histogram }: WaitCounts): [field: string, count: number][] {
  const counts = [...histogram.entries()].filter(([, count]) => count > 0)
  return [[`ms|${queue}`, ms], ...counts.map(([bucket, count]): [string, number] => [`${bucket}|${queue}`, count])]
}

/** Reads a hash of waits. The first bar of a field ends the bucket: the name of a queue may contain bars. */
function waitsOf(at: number, answer: Record<string, string>): WaitSums[] {
  const found = new Map<string, { at: number; queue: string; ms: number; histogram: number[] }>()
  for (const [field, count] of Object.entries(answer)) {
    const bar = field.indexOf('|')
    const [what, queue] = [field.slice(0, bar), field.slice(bar + 1)]
    const sums = found.get(queue) ?? { at, queue, ms: 0, histogram: Array<number>(HISTOGRAM_BUCKETS).fill(0) }
    found.set(queue, sums)
    if (what === 'ms') sums.ms = Number(count)
    else if (Number(what) < HISTOGRAM_BUCKETS) sums.histogram[Number(what)] = Number(count)
  }
  return [...found.values()]
}

const FIELDS: Record<string, 'processed' | 'failed' | 'ms'> = { p: 'processed', f: 'failed', ms: 'ms' }

/** Adds one field of a hash. Its last bar separates name and figure: a name may contain bars. */
function add(sums: Map<string, JobSums>, at: number, field: string, count: number): void {
  const bar = field.lastIndexOf('|')
  const what = FIELDS[field.slice(bar + 1)]
  if (bar < 0 || !what || !Number.isFinite(count)) return
  const name = field.slice(0, bar)
  const id = `${at} ${name}`
  const sum = sums.get(id) ?? { at, name, processed: 0, failed: 0, ms: 0 }
  sum[what] += count
  sums.set(id, sum)
}
