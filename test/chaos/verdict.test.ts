import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type InFlight, Journal } from './harness/journal.ts'
import { judge } from './harness/verdict.ts'

const PID = 7
/** Microseconds after which no loss of a lease has anything to do with what was before. */
const LONG = 60_000_000
const JOB_RAN = ['began 0 100', 'ended 0 200']
const NONE: InFlight = { jobs: [], unnumbered: 0, ids: [], isLeaseLost: false }

interface Case {
  workload: string
  jobs?: number
  pushed: string[]
  worker: string[]
  stopped?: InFlight
  processed?: number
}

/** Judges journals of one pusher and one worker. */
function verdictOf({ workload, jobs = 1, pushed, worker, stopped, processed = 0 }: Case) {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-verdict-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (role: string, lines: string[]) =>
    writeFileSync(`${folder}/journal-${role}-${PID}-1.log`, lines.map((line) => `${line}\n`).join(''))
  write('pusher', pushed)
  write('worker', worker)
  const journal = new Journal(folder, jobs, 10)
  if (stopped) journal.countLost(PID, stopped)
  journal.read()
  const stored = { stats: { processed, failed: 0, dead: 0 }, tasks: new Map(), locks: 0 }
  return judge(journal, [{ workload, from: 0, count: jobs }], stored)
}

const STORED = ['push 0 1', 'stored 0 1']
const REPEATED = ['push 0 1', 'push 0 1', 'stored 0 1']
const runOf = (call: number, began: number, ended: number, numbers = '0', end = 'called') => [
  `call ${call} ordered:a ${began} ${numbers}`,
  `${end} ${call} ordered:a ${ended}`,
]

test('a job that runs again without a fault is named, also when its counts are right', () => {
  const { unexplained, countsOff, all } = verdictOf({
    workload: 'plain',
    pushed: STORED,
    worker: [...JOB_RAN, ...JOB_RAN],
    processed: 1,
  })
  expect(unexplained).toEqual(['job 0 of plain ran 2 times, not at most 1'])
  expect(countsOff).toEqual([])
  expect(all.repeats).toBe(1)
})

test('a job runs again once for each stopped worker that had it, and no other job does', () => {
  const worker = [...JOB_RAN, ...JOB_RAN]
  const verdict = (stopped: InFlight, more: string[] = []) =>
    verdictOf({ workload: 'plain', jobs: 2, pushed: ['push 0 2', 'stored 0 2'], worker: [...worker, ...more], stopped })
  expect(verdict({ ...NONE, jobs: [0] }).unexplained).toEqual([])
  expect(verdict({ ...NONE, jobs: [0] }, JOB_RAN).unexplained).toEqual(['job 0 of plain ran 3 times, not at most 2'])
  expect(verdict({ ...NONE, jobs: [1] }).unexplained).toEqual(['job 0 of plain ran 2 times, not at most 1'])
  // The store gave them to others before it was asked.
  expect(verdict({ ...NONE, isLeaseLost: true }).unexplained).toEqual([])
})

test('a job that is stored twice by a repeated push is named, and its counts are off', () => {
  const { unexplained, countsOff } = verdictOf({
    workload: 'plain',
    pushed: REPEATED,
    worker: [...JOB_RAN, ...JOB_RAN],
    processed: 2,
  })
  expect(unexplained).toEqual(['job 0 of plain ran 2 times, not at most 1'])
  expect(countsOff).toEqual(['processed is 2, not 1'])
})

test('a version of an ordered id runs once for each push and each failure', () => {
  const worker = [...runOf(1, 100, 200, '0', 'failed'), ...runOf(2, 300, 400), ...runOf(3, 500, 600)]
  const verdict = (pushed: string[]) => verdictOf({ workload: 'ordered', pushed, worker })
  expect(verdict(REPEATED)).toMatchObject({ unexplained: [], ordersBroken: [], all: { done: 1, lost: 0, repeats: 0 } })
  expect(verdict(STORED).unexplained).toEqual(['job 0 of ordered ran 3 times, not at most 2'])
})

test('a version of an ordered id that only failed is lost', () => {
  const worker = runOf(1, 100, 200, '0', 'failed')
  expect(verdictOf({ workload: 'ordered', pushed: STORED, worker }).all.lost).toBe(1)
})

test('an ordered id that runs twice at a time is named, except after the process lost its lease', () => {
  const pushed = ['push 0 2', 'stored 0 2']
  const worker = [
    'call 1 ordered:a 100 0',
    'call 2 ordered:a 150 1',
    'called 1 ordered:a 200',
    'called 2 ordered:a 250',
  ]
  const verdict = (more: string[]) =>
    verdictOf({ workload: 'ordered', jobs: 2, pushed, worker: [...worker, ...more] }).ordersBroken
  expect(verdict([])).toEqual(['ordered:a: a run began at 150 while 1 ran'])
  expect(verdict([`lost owner ${LONG}`])).toEqual(['ordered:a: a run began at 150 while 1 ran'])
  expect(verdict(['lost owner 300'])).toEqual([])
})
