/** Routes of processes that work: what they are like, and signals to them. */

import type { Process } from '../../index.ts'
import { HighkiqError } from '../../job/errors.ts'
import { all } from '../live/collect.ts'
import { json } from '../server/answer.ts'
import { type Route, route } from '../server/route.ts'
import { boolean, count, list, listOf, object, type Schema, text, time } from '../server/schema.ts'
import { timeOf } from './job-summary.ts'

function processOf(process: Process, now: number) {
  const { identity, hostname, pid, tag, labels, queues, definedQueues, version, ours, embedded } = process
  const { busy, concurrency, orderedConcurrency, rss, isQuiet, leader, startedAt, beat } = process
  return {
    ...{ identity, hostname, pid, tag, labels, queues, definedQueues, version, ours, embedded },
    ...{
      busy,
      concurrency,
      orderedConcurrency,
      rss,
      quiet: isQuiet,
      leader,
      startedAt: timeOf(startedAt),
      beat: timeOf(beat),
      state: process.stateAt(now),
    },
  }
}

/** A route that sends a process a signal. */
function signal(name: string, summary: string, send: (process: Process) => Promise<boolean>): Route {
  return route({
    method: 'POST',
    path: `/api/v1/processes/{identity}/${name}`,
    summary,
    answers: { 202: { description: 'It hears of it at its next beat', content: { 'application/json': 'Process' } } },
    async run({ hq, path }) {
      const process = await hq.processes().find(path.identity ?? '')
      if (process && (await send(process))) return json(processOf(process, hq.now()), 202)
      throw new HighkiqError('UNKNOWN_PROCESS', `no process ${path.identity} lives: it has ended, or never was`)
    },
  })
}

export const PROCESS_ROUTES: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/processes',
    summary: 'The processes that work, ours and Ruby’s, as they showed themselves at their last beats',
    answers: { 200: { description: 'All of them, by identity', content: { 'application/json': 'ProcessList' } } },
    async run({ hq }) {
      const items = (await all(hq.processes())).map((process) => processOf(process, hq.now()))
      return json({ items, next: null })
    },
  }),
  signal('quiet', 'It takes no more jobs; what runs goes on', (process) => process.quiet()),
  signal('stop', 'It ends as at SIGTERM: what does not end in time goes back to its queue', (process) =>
    process.stop(),
  ),
  signal('trace', 'It tells in its log what it is doing', (process) => process.dumpTrace()),
]

export const PROCESS_SCHEMAS: Record<string, Schema> = {
  Process: object({
    identity: text,
    hostname: text,
    pid: count,
    tag: text,
    labels: list(text),
    queues: list(text),
    definedQueues: { ...list(text), description: 'that the jobs of its app name' },
    version: text,
    ours: { ...boolean, description: 'of Highkiq, and not of Sidekiq' },
    embedded: { ...boolean, description: 'inside a program of another purpose: it obeys no signals' },
    busy: count,
    concurrency: { ...count, description: 'jobs and batches of ordered queues at the same time' },
    orderedConcurrency: { ...count, description: 'of these, batches of ordered queues' },
    rss: { ...count, description: 'kB' },
    quiet: boolean,
    leader: boolean,
    startedAt: time,
    beat: { ...time, description: 'when it was last seen' },
    state: { enum: ['live', 'quiet', 'silent'] },
  }),
  ProcessList: listOf('Process'),
}
