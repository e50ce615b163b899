/** Routes of worker processes, their running jobs, and signals to them. */

import type { Process } from '../../index.ts'
import { serves } from '../../inspect/process.ts'
import { HighkiqError } from '../../job/errors.ts'
import { all } from '../../job/json.ts'
import { processOf } from '../live/process-fields.ts'
import { ProcessSettings } from '../schemas/queues.ts'
import { json } from '../server/answer.ts'
import { text } from '../server/parameter.ts'
import { answer, type Call, get, ok, patch, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'

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

export const PROCESS_ROUTES: Route[] = [
  get('/api/v1/processes', {
    id: 'listProcesses',
    summary: 'Lists the worker processes of Highkiq and Sidekiq, as of their last heartbeats',
    query: { queue: text('a queue that they serve') },
    answers: ok('ProcessList', 'The processes, by identity'),
    async run({ hq, query: { queue } }) {
      const processes = (await all(hq.processes())).filter((process) => queue === undefined || serves(process, queue))
      return json({ items: processes.map((process) => processOf(process, hq.now())), next: null })
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
    errors: ['UNKNOWN_PROCESS'],
    summary: 'Changes how many jobs a capsule of the process runs at the same time, until the process ends',
    body: { content: { 'application/json': 'ProcessSettings' } },
    answers: SIGNALLED,
    async run(call) {
      const settings = await bodyOf(call, ProcessSettings, 'a process')
      return send(call, (process) => process.set(settings))
    },
  }),
]
