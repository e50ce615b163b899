import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Task, TaskStatus, WaitOptions } from '../index.ts'
import { Pace, watchTask } from './task-progress.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

type Snapshot = Partial<Omit<TaskStatus, 'counts'>> & { at: number; counts?: Partial<TaskStatus['counts']> }

/** A task that is seen in these states, one after the other, at these seconds. */
function taskSeen(snapshots: Snapshot[]): Task {
  const wait = async ({ onProgress }: WaitOptions = {}) => {
    const seen = snapshots.map(({ at, ...one }) => ({ at, status: statusOf(one) }))
    for (const { at, status } of seen) {
      vi.setSystemTime(at * 1000)
      onProgress?.(status)
    }
    return seen.at(-1)?.status as TaskStatus
  }
  return { id: 'ab', wait } as unknown as Task
}

function statusOf({ counts: some, ...rest }: Omit<Snapshot, 'at'>): TaskStatus {
  const counts = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0, ...some }
  const total = rest.total ?? 1000
  const ended = counts.finished + counts.failed + counts.error + counts.cancelled
  const percent = (ended / total) * 100
  const running = { id: 'ab', state: 'running', backlog: 0, retrying: 0, runAt: new Date(0), ratePerSecond: 123 }
  return { ...running, finishedAt: null, ...rest, total, counts, percent } as TaskStatus
}

async function watched(snapshots: Snapshot[], { tty = false, ...options }: { tty?: boolean; title?: string } = {}) {
  const out = Object.assign(new PassThrough(), { isTTY: tty, columns: 120 })
  await watchTask(taskSeen(snapshots), { out: out as unknown as NodeJS.WriteStream, ...options })
  return String(out.read() ?? '')
}

test('piped, it writes a line a second with ended rows, total, current rate, time left and failures', async () => {
  const text = await watched([
    { at: 0 },
    { at: 0.5, counts: { finished: 50 } },
    { at: 1, counts: { finished: 95, failed: 3, error: 2 } },
    { at: 1.5, counts: { finished: 145, failed: 3, error: 2 } },
    { at: 2, counts: { finished: 195, failed: 3, error: 2 } },
    { at: 10, state: 'done', counts: { finished: 995, failed: 3, error: 2 }, finishedAt: new Date(10_000) },
  ])
  expect(text.split('\n').slice(0, 2)).toEqual([
    '100 of 1,000 (10%) · 100/s · 9 s left · 5 rejected',
    '200 of 1,000 (20%) · 100/s · 8 s left · 5 rejected',
  ])
  expect(text).toMatch(/1,000 of 1,000 \(100%\) · in 10 s · 123\/s · 5 rejected\n$/)
})

test('piped, it shows no percentage while rows are being added', async () => {
  const text = await watched([
    { at: 0, state: 'adding' },
    { at: 1, state: 'adding', counts: { finished: 10 } },
  ])
  expect(text).toContain('10 of 1,000 (still reading) · 10/s\n')
})

test('piped, it reports a stall every ten seconds', async () => {
  const stalled = Array.from({ length: 21 }, (_, i) => ({ at: i + 2, counts: { finished: 10 } }))
  const text = await watched([{ at: 0 }, { at: 1, counts: { finished: 10 } }, ...stalled])
  expect(text.match(/no row for .*/g)).toEqual(['no row for 10 s', 'no row for 20 s'])
})

test('piped, it shows rows that wait for a retry, and no time left for them', async () => {
  const text = await watched([
    { at: 0 },
    { at: 1, counts: { finished: 990 }, retrying: 5 },
    { at: 2, counts: { finished: 995 }, retrying: 5 },
  ])
  expect(text.split('\n').slice(0, 2)).toEqual([
    '990 of 1,000 (99%) · 990/s · 1 s left · 5 rows wait for a retry',
    '995 of 1,000 (99%) · 498/s · 5 rows wait for a retry',
  ])
})

test('piped, each line begins with the title', async () => {
  expect(await watched([{ at: 0, state: 'done', total: 0 }], { title: 'spring' })).toMatch(/^spring: 0 of 0/)
})

test('on a terminal a bar fits its width, with the failures in colour, and leaves the terminal as it was', async () => {
  const snapshots = [{ at: 0 }, { at: 1, counts: { finished: 400, failed: 100 } }]
  const text = await watched(snapshots, { tty: true, title: 'spring' })
  const last = text.slice(text.lastIndexOf('spring'))
  expect(last).toContain(`${'█'.repeat(20)}`)
  expect(last).toContain(' 50%  500 of 1,000')
  expect(last).toContain('100 rejected')
  expect(text).not.toContain('\x1B8')
  expect(text.endsWith('\x1b[?7h\n')).toBe(true)
})

test('the pace of a task covers the last seconds only', () => {
  const pace = new Pace()
  for (let second = 0; second <= 10; second++) pace.addSample(second * 1000, second * 1000)
  for (let second = 11; second <= 20; second++) pace.addSample(10_000 + (second - 10) * 10, second * 1000)
  expect(pace.perSecond).toBeCloseTo(10, 0)
})

test('the pace of a task looks further back for a slow task', () => {
  const pace = new Pace()
  for (let second = 0; second <= 50; second++) pace.addSample(Math.floor(second / 10), second * 1000)
  expect(pace.perSecond).toBeCloseTo(0.1, 1)
})

test('the pace of a task starts over when rows are retried', () => {
  const pace = new Pace()
  pace.addSample(100, 0)
  pace.addSample(50, 1000)
  pace.addSample(60, 2000)
  expect(pace.perSecond).toBe(10)
})
