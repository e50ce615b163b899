import { expect } from 'vitest'
import type { JobCounts, MetricsBatch, Store } from '#dist/store/contract.js'
import { type Case, NOW } from '../bench.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Metrics by class and minute, and deploys. */
export const metrics: Case[] = [
  {
    name: 'a batch is found in its minute and its ten minutes, and histograms by class',
    async run(t) {
      await record(t.store, { at: NOW + 59_999, jobs: [counts('A', 3, 1, 50, { 0: 1, 3: 1 }), counts('B', 1)] })
      await record(t.store, { at: NOW + 9 * MINUTE, jobs: [counts('A', 2, 0, 7, { 25: 2 })] })
      const minutes = [NOW - MINUTE, NOW, NOW + MINUTE, NOW + 9 * MINUTE]
      expect(await sums(t.store, 1, minutes)).toEqual([
        { at: NOW, name: 'A', processed: 3, failed: 1, ms: 50 },
        { at: NOW, name: 'B', processed: 1, failed: 0, ms: 0 },
        { at: NOW + 9 * MINUTE, name: 'A', processed: 2, failed: 0, ms: 7 },
      ])
      expect(await sums(t.store, 10, [NOW - 10 * MINUTE, NOW, NOW + 10 * MINUTE])).toEqual([
        { at: NOW, name: 'A', processed: 5, failed: 1, ms: 57 },
        { at: NOW, name: 'B', processed: 1, failed: 0, ms: 0 },
      ])
      expect(await t.store.metrics.sums(1, minutes, 'B')).toEqual([
        { at: NOW, name: 'B', processed: 1, failed: 0, ms: 0 },
      ])
      expect(await t.store.metrics.sums(1, minutes, 'none')).toEqual([])
      expect(await t.store.metrics.sums(1, [])).toEqual([])
      const found = await t.store.metrics.histograms(1, [{ name: 'A', times: minutes }])
      expect(found.sort((a, b) => a.at - b.at)).toEqual([
        { name: 'A', at: NOW, counts: buckets({ 0: 1, 3: 1 }) },
        { name: 'A', at: NOW + 9 * MINUTE, counts: buckets({ 25: 2 }) },
      ])
      expect(await t.store.metrics.histograms(1, [{ name: 'B', times: minutes }])).toEqual([])
      expect(await t.store.metrics.histograms(1, [])).toEqual([])
      await record(t.store, { jobs: [counts('C', 4, 0, 1, { 1: 4 })] })
      const some = [
        { name: 'B', times: minutes },
        { name: 'A', times: [NOW + 9 * MINUTE] },
        { name: 'C', times: [NOW] },
      ]
      const ofSome = await t.store.metrics.histograms(1, some)
      expect(ofSome.sort((a, b) => a.at - b.at)).toEqual([
        { name: 'C', at: NOW, counts: buckets({ 1: 4 }) },
        { name: 'A', at: NOW + 9 * MINUTE, counts: buckets({ 25: 2 }) },
      ])
      expect(await t.store.metrics.histograms(10, [{ name: 'A', times: [NOW, NOW + 10 * MINUTE] }])).toEqual([
        { name: 'A', at: NOW, counts: buckets({ 0: 1, 3: 1, 25: 2 }) },
      ])
    },
  },
  {
    name: 'the batches of several processes are added up',
    shared: true,
    async run(t) {
      const other = await t.another()
      const jobs = [counts('A', 2, 1, 10, { 4: 1 })]
      await Promise.all([record(t.store, { source: 'one', jobs }), record(other, { source: 'two', jobs })])
      await record(other, { source: 'two', number: 2, jobs })
      expect(await sums(t.store, 1, [NOW])).toEqual([{ at: NOW, name: 'A', processed: 6, failed: 3, ms: 30 }])
      expect(await t.store.metrics.histograms(1, [{ name: 'A', times: [NOW] }])).toEqual([
        { name: 'A', at: NOW, counts: buckets({ 4: 3 }) },
      ])
    },
  },
  {
    name: 'waits are found by minute and queue, and those of several batches are added up, once each',
    async run(t) {
      const waits = (queue: string, ms: number, filled: Record<number, number>) => ({
        ...{ queue, ms, histogram: buckets(filled) },
      })
      const record = (number: number, at: number, ...all: ReturnType<typeof waits>[]) =>
        t.store.metrics.record({ source: 'a', number, at, jobs: [], waits: all })
      await record(1, NOW + 59_999, waits('a|b', 40, { 0: 2 }), waits('default', 5, { 0: 1, 25: 70_000 }))
      await record(2, NOW, waits('a|b', 30, { 0: 1, 3: 4 }))
      await record(2, NOW, waits('a|b', 30, { 0: 1, 3: 4 }))
      await record(3, NOW + MINUTE, waits('default', 0, { 0: 1 }))
      const found = await t.store.metrics.waits([NOW, NOW + MINUTE, NOW + 2 * MINUTE])
      expect(found.sort((a, b) => a.at - b.at || (a.queue < b.queue ? -1 : 1))).toEqual([
        { at: NOW, queue: 'a|b', ms: 70, histogram: buckets({ 0: 3, 3: 4 }) },
        { at: NOW, queue: 'default', ms: 5, histogram: buckets({ 0: 1, 25: 70_000 }) },
        { at: NOW + MINUTE, queue: 'default', ms: 0, histogram: buckets({ 0: 1 }) },
      ])
      const minutes = [NOW, NOW + MINUTE, NOW + 2 * MINUTE]
      expect(await t.store.metrics.waits(minutes, 'a|b')).toEqual(found.filter(({ queue }) => queue === 'a|b'))
      expect(await t.store.metrics.waits(minutes, 'default')).toEqual(found.filter(({ queue }) => queue === 'default'))
      expect(await t.store.metrics.waits(minutes, 'b')).toEqual([])
      expect(await t.store.metrics.waits([], 'default')).toEqual([])
      expect(await t.store.metrics.waits([])).toEqual([])
      // A batch without waits has none.
      await t.store.metrics.record({ source: 'a', number: 4, at: NOW + 2 * MINUTE, jobs: [counts('A', 1)] })
      expect(await t.store.metrics.waits([NOW + 2 * MINUTE])).toEqual([])
    },
  },
  {
    name: 'a batch that is recorded twice, or after a later one, counts once',
    async run(t) {
      const jobs = [counts('A', 1, 0, 5, { 0: 1 })]
      await record(t.store, { number: 1, jobs })
      await record(t.store, { number: 1, jobs })
      await record(t.store, { number: 2, at: NOW + MINUTE, jobs })
      await record(t.store, { number: 1, jobs })
      expect(await sums(t.store, 10, [NOW])).toEqual([{ at: NOW, name: 'A', processed: 2, failed: 0, ms: 10 }])
      expect(await t.store.metrics.histograms(1, [{ name: 'A', times: [NOW] }])).toEqual([
        { name: 'A', at: NOW, counts: buckets({ 0: 1 }) },
      ])
    },
  },
  {
    name: 'a bucket of a minute does not grow above 65,535, and one of ten minutes does',
    async run(t) {
      await record(t.store, { jobs: [counts('A', 65_530, 0, 1, { 0: 65_530, 1: 70_000, 25: 65_535 })] })
      await record(t.store, { number: 2, jobs: [counts('A', 10, 0, 1, { 0: 10, 1: 1, 2: 1, 25: 1 })] })
      const [found] = await t.store.metrics.histograms(1, [{ name: 'A', times: [NOW] }])
      expect(found?.counts).toEqual(buckets({ 0: 65_535, 1: 65_535, 2: 1, 25: 65_535 }))
      const [long] = await t.store.metrics.histograms(10, [{ name: 'A', times: [NOW] }])
      expect(long?.counts).toEqual(buckets({ 0: 65_540, 1: 70_001, 2: 1, 25: 65_536 }))
      expect(await sums(t.store, 1, [NOW])).toMatchObject([{ processed: 65_540 }])
    },
  },
  {
    name: 'a minute belongs to its UTC day, hour and ten minutes',
    async run(t) {
      const midnight = Date.UTC(2026, 4, 18)
      await record(t.store, { at: midnight - 1, jobs: [counts('A', 1, 0, 1, { 0: 1 })] })
      await record(t.store, { number: 2, at: midnight, jobs: [counts('A', 2, 0, 1, { 1: 2 })] })
      await record(t.store, { number: 3, at: midnight + 10 * MINUTE, jobs: [counts('A', 4, 0, 1, { 2: 4 })] })
      const minutes = [midnight - MINUTE, midnight, midnight + MINUTE, midnight + 10 * MINUTE]
      expect((await sums(t.store, 1, minutes)).map(({ at, processed }) => [at, processed])).toEqual([
        [midnight - MINUTE, 1],
        [midnight, 2],
        [midnight + 10 * MINUTE, 4],
      ])
      const tens = [-10, 0, 10].map((n) => midnight + n * MINUTE)
      expect((await sums(t.store, 10, tens)).map(({ processed }) => processed)).toEqual([1, 2, 4])
      // The same time of another day is another minute.
      expect(await t.store.metrics.sums(1, [midnight - DAY, midnight + DAY])).toEqual([])
      expect(await t.store.metrics.histograms(1, [{ name: 'A', times: [midnight - DAY, midnight + DAY] }])).toEqual([])
    },
  },
  {
    name: 'a class may have any name',
    async run(t) {
      const names = ['A|B', 'A', 'A|p', '|', 'Ünï::cødé', "x' OR 1 --", 'with space', 'a-17-12:0']
      await record(t.store, { jobs: names.map((name, i) => counts(name, i + 1, i, 10 * i, { 0: 1 })) })
      const found = await t.store.metrics.sums(1, [NOW])
      expect(Object.fromEntries(found.map(({ name, processed, failed }) => [name, [processed, failed]]))).toEqual(
        Object.fromEntries(names.map((name, i) => [name, [i + 1, i]])),
      )
      for (const name of names) {
        expect(await t.store.metrics.sums(1, [NOW], name)).toEqual(found.filter((one) => one.name === name))
        for (const span of [1, 10] as const) {
          expect(await t.store.metrics.histograms(span, [{ name, times: [NOW] }])).toEqual([
            { name, at: NOW, counts: buckets({ 0: 1 }) },
          ])
        }
      }
    },
  },
  {
    name: 'the first snapshot of a minute, of ten minutes and of a day is kept, of several callers',
    shared: true,
    async run(t) {
      const day = NOW - (NOW % DAY)
      const other = await t.another()
      const both = await Promise.all([t.store, other].map((store) => store.metrics.recordSnapshot(NOW + 7, '{"a":1}')))
      expect(both.sort()).toEqual([false, true])
      expect(await other.metrics.recordSnapshot(NOW + 59_999, '{"a":2}')).toBe(false)
      expect(await t.store.metrics.recordSnapshot(NOW + MINUTE, '{"a":"ä"}')).toBe(true)
      expect(await t.store.metrics.recordSnapshot(NOW + 10 * MINUTE, '{"a":4}')).toBe(true)
      const snapshots = async (span: 1 | 10 | 1440, ...times: number[]) =>
        (await other.metrics.snapshots(span, times)).map(({ at, text }) => [at, text])
      expect(await snapshots(1, NOW + 10 * MINUTE, NOW, NOW + MINUTE, NOW + 2 * MINUTE)).toEqual([
        [NOW, '{"a":1}'],
        [NOW + MINUTE, '{"a":"ä"}'],
        [NOW + 10 * MINUTE, '{"a":4}'],
      ])
      expect(await snapshots(10, NOW, NOW + 10 * MINUTE, NOW + 20 * MINUTE)).toEqual([
        [NOW, '{"a":1}'],
        [NOW + 10 * MINUTE, '{"a":4}'],
      ])
      expect(await snapshots(1440, day - DAY, day)).toEqual([[day, '{"a":1}']])
      expect(await snapshots(1)).toEqual([])
    },
  },
  {
    name: 'of several callers, the first one stores the sizes of queues of a minute, and of ten minutes',
    shared: true,
    async run(t) {
      const other = await t.another()
      const record = (store: Store, span: 1 | 10, ms: number, text: string) =>
        store.metrics.recordQueueSizes(span, NOW + ms, text)
      const both = await Promise.all([t.store, other].map((store) => record(store, 1, 7, 'all\n"ä" 1\n')))
      expect(both.sort()).toEqual([false, true])
      expect(await record(other, 1, 59_999, 'second')).toBe(false)
      expect(await record(other, 10, 9 * MINUTE, 'long '.repeat(50_000))).toBe(true)
      expect(await record(t.store, 10, 0, 'second')).toBe(false)
      expect(await record(t.store, 1, 2 * MINUTE, '')).toBe(true)
      const sizes = async (span: 1 | 10, ...times: number[]) =>
        (await other.metrics.queueSizes(span, times)).map(({ at, text }) => [at, text])
      expect(await sizes(1, NOW + 2 * MINUTE, NOW, NOW + MINUTE)).toEqual([
        [NOW, 'all\n"ä" 1\n'],
        [NOW + 2 * MINUTE, ''],
      ])
      expect(await sizes(10, NOW - 10 * MINUTE, NOW)).toEqual([[NOW, 'long '.repeat(50_000)]])
      expect(await sizes(1)).toEqual([])
    },
  },
  {
    name: 'a deploy is recorded once by many callers, and read by its day',
    async run(t) {
      const at = Date.UTC(2026, 4, 17, 23, 59)
      const recorded = await Promise.all([1, 2, 3].map(() => t.store.metrics.recordDeploy({ at, label: 'v1' }, NOW)))
      expect(recorded.sort()).toEqual([false, false, true])
      expect(await t.store.metrics.recordDeploy({ at: at - MINUTE, label: 'v1' }, NOW + 1)).toBe(false)
      expect(await t.store.metrics.recordDeploy({ at, label: 'the minute has a deploy' }, NOW)).toBe(false)
      expect(await t.store.metrics.recordDeploy({ at: at + MINUTE, label: 'v2 – größer' }, NOW)).toBe(true)
      expect(await t.store.metrics.deploys(['2026-05-18', '2026-05-17', '2026-05-16'])).toEqual([
        { at, label: 'v1' },
        { at: at + MINUTE, label: 'v2 – größer' },
      ])
      expect(await t.store.metrics.deploys(['2026-05-17'])).toEqual([{ at, label: 'v1' }])
      expect(await t.store.metrics.deploys([])).toEqual([])
    },
  },
]

function record(store: Store, batch: Partial<MetricsBatch>): Promise<void> {
  const source = batch.source ?? `source ${batch.number ? '' : batch.at}`
  return store.metrics.record({ source, number: 1, at: NOW, jobs: [], ...batch })
}

async function sums(store: Store, span: 1 | 10, times: number[]) {
  return (await store.metrics.sums(span, times)).sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1))
}

export function counts(
  name: string,
  processed = 0,
  failed = 0,
  ms = 0,
  histogram: Record<number, number> = {},
): JobCounts {
  return { name, processed, failed, ms, histogram: buckets(histogram) }
}

function buckets(filled: Record<number, number>): number[] {
  return Array.from({ length: 26 }, (_, i) => filled[i] ?? 0)
}
