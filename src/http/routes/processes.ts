/** Routes of worker processes, their running jobs, and signals to them. */

import type { Process, Running } from '../../index.ts'
import { HighkiqError } from '../../job/errors.ts'
import { all } from '../../job/json.ts'
import type { Redaction } from '../access/redact.ts'
import { ProcessSettings } from '../schemas/jobs.ts'
import { json } from '../server/answer.ts'
import { integer } from '../server/parameter.ts'
import { answer, type Call, get, ok, patch, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { cut, summaryOf, timeOf } from './job-summary.ts'

function processOf(process: Process, now: number) {
  const { identity, hostname, pid, tag, labels, queues, definedQueues, version, ours, embedded } = process
  const { busy, concurrency, orderedConcurrency, capsules, rss, isQuiet, leader, startedAt, beat } = process
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
    capsules: Object.entries(capsules).map(([name, { concurrency }]) => ({ name, concurrency })),
    rss,
    quiet: isQuiet,
    leader,
    startedAt: timeOf(startedAt),
    beat: timeOf(beat),
    state: process.stateAt(now),
  }
}

const SIGNALLED = { 202: answer('Process', 'The process receives the signal with its next heartbeat') }

async function send({ hq, path }: Call, signal: (process: Process) => Promise<boolean>): Promise<Response> {
  const process = await hq.processes().find(path.identity ?? '')
  if (process && (await signal(process))) return json(processOf(process, hq.now()), 202)
  throw new HighkiqError('UNKNOWN_PROCESS', `no live process has the identity ${path.identity}`)
}

/** Makes a route that sends a signal to a process. */
function signalRoute(name: string, summary: string, signal: (process: Process) => Promise<boolean>): Route {
  return post(`/api/v1/processes/{identity}/${name}`, {
    id: `${name}Process`,
    errors: ['UNKNOWN_PROCESS', 'EMBEDDED_PROCESS'],
    summary,
    answers: SIGNALLED,
    run: (call) => send(call, signal),
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
    id: 'listProcesses',
    summary: 'Lists the worker processes of Highkiq and Sidekiq, as of their last heartbeats',
    answers: ok('ProcessList', 'All of them, by identity'),
    async run({ hq }) {
      const items = (await all(hq.processes())).map((process) => processOf(process, hq.now()))
      return json({ items, next: null })
    },
  }),
  signalRoute('quiet', 'The process fetches no more jobs; running jobs finish', (process) => process.quiet()),
  signalRoute(
    'stop',
    'The process stops gracefully, like SIGTERM: jobs that exceed the timeout are requeued',
    (process) => process.stop(),
  ),
  signalRoute('trace', 'The process logs what it is doing', (process) => process.dumpTrace()),
  patch('/api/v1/processes/{identity}', {
    id: 'updateProcess',
    errors: ['UNKNOWN_PROCESS', 'EMBEDDED_PROCESS'],
    summary: 'Changes how many jobs a capsule of the process runs at the same time, until the process ends',
    body: { content: { 'application/json': 'ProcessSettings' } },
    answers: SIGNALLED,
    async run(call) {
      const settings = await bodyOf(call, ProcessSettings, 'a process')
      return send(call, (process) => process.set(settings))
    },
  }),
  get('/api/v1/running', {
    id: 'listRunning',
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
