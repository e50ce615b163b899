/** Routes of worker processes, their running jobs, and signals to them. */

import type { Process, Running } from '../../index.ts'
import { HighkiqError } from '../../job/errors.ts'
import { all } from '../../job/json.ts'
import type { Redaction } from '../access/redact.ts'
import { json } from '../server/answer.ts'
import { integer } from '../server/parameter.ts'
import { answer, get, ok, post, type Route } from '../server/route.ts'
import { cut, summaryOf, timeOf } from './job-summary.ts'

function processOf(process: Process, now: number) {
  const { identity, hostname, pid, tag, labels, queues, definedQueues, version, ours, embedded } = process
  const { busy, concurrency, orderedConcurrency, rss, isQuiet, leader, startedAt, beat } = process
  return {
    identity,
    hostname,
    pid,
    tag,
    labels,
    queues,
    definedQueues,
    version,
    ours,
    embedded,
    busy,
    concurrency,
    orderedConcurrency,
    rss,
    quiet: isQuiet,
    leader,
    startedAt: timeOf(startedAt),
    beat: timeOf(beat),
    state: process.stateAt(now),
  }
}

/** Makes a route that sends a signal to a process. */
function signal(name: string, summary: string, send: (process: Process) => Promise<boolean>): Route {
  return post(`/api/v1/processes/{identity}/${name}`, {
    summary,
    answers: { 202: answer('Process', 'The process receives the signal with its next heartbeat') },
    async run({ hq, path }) {
      const process = await hq.processes().find(path.identity ?? '')
      if (process && (await send(process))) return json(processOf(process, hq.now()), 202)
      throw new HighkiqError('UNKNOWN_PROCESS', `no live process has the identity ${path.identity}`)
    },
  })
}

const STANDARD = 500
const MOST = 5000

function runningOf(redaction: Redaction, running: Running) {
  const { key: _, bytes: __, ...rest } = summaryOf(redaction, running, '')
  const { process, thread, startedAt, progress } = running
  return { ...rest, process, thread, startedAt: timeOf(startedAt), progress: progress ? progressOf(progress) : null }
}

function progressOf({ done, total, note }: NonNullable<Running['progress']>) {
  return { done, ...(total === undefined ? {} : { total }), ...(note === undefined ? {} : { note: cut(note) }) }
}

export const PROCESS_ROUTES: Route[] = [
  get('/api/v1/processes', {
    summary: 'Lists the worker processes of Highkiq and Sidekiq, as of their last heartbeats',
    answers: ok('ProcessList', 'All of them, by identity'),
    async run({ hq }) {
      const items = (await all(hq.processes())).map((process) => processOf(process, hq.now()))
      return json({ items, next: null })
    },
  }),
  signal('quiet', 'The process fetches no more jobs; running jobs finish', (process) => process.quiet()),
  signal('stop', 'The process stops gracefully, like SIGTERM: jobs that exceed the timeout are requeued', (process) =>
    process.stop(),
  ),
  signal('trace', 'The process logs what it is doing', (process) => process.dumpTrace()),
  get('/api/v1/running', {
    summary: 'Lists the running jobs, longest first, as of the last heartbeats',
    query: { limit: integer(1, MOST, STANDARD, 'the most items') },
    answers: ok('RunningList', 'The running jobs'),
    async run({ hq, server, query }) {
      const items: ReturnType<typeof runningOf>[] = []
      for await (const running of hq.running()) {
        if (items.length === query.limit) break
        items.push(runningOf(server.redaction, running))
      }
      return json({ items, next: null })
    },
  }),
]
