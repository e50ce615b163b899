/** The text that `highkiq job` prints. */

import type { JobRecord, JobState } from '../index.ts'
import { stringifyJson } from '../job/json.ts'
import type { Payload } from '../job/payload.ts'
import type { JobView, LimitView } from './job.ts'
import { limitName } from './limit-name.ts'
import { count, pairs, plain, time } from './output.ts'

const STATE_TEXTS: Record<JobState, string> = {
  queued: 'waits in its queue',
  running: 'running',
  scheduled: 'scheduled',
  retry: 'failed, and waits for a retry',
  limited: 'waits for room in its limit',
  'waiting-children': 'waits for its children',
  dead: 'dead: it used up its retries or was killed',
  succeeded: 'succeeded',
  backlog: 'waits in the backlog of its task',
  ended: 'ended',
  unknown: 'no longer in the store',
}

const ORPHANED = 'belongs to a dead worker: the next running worker puts it back into its queue'

export function textOf(view: JobView): string {
  const { jid, state, job, event, task, batch, locks, limit, worker, progress, timeline, failure } = view
  const { hk_crashes: crashes } = (job?.payload ?? {}) as Partial<Payload>
  const args = job?.displayArgs ?? event?.args
  const rows: [string, string | null | undefined | false][] = [
    ['jid', jid],
    ['state', worker?.dead ? ORPHANED : STATE_TEXTS[state]],
    ['job', job?.displayClass ?? event?.job],
    ['queue', job && (job.priority > 0 ? `${job.queue} (priority ${job.priority})` : job.queue)],
    ['arguments', args?.map((one) => stringifyJson(one)).join(', ')],
    ['tags', job?.tags.join(' ')],
    ['worker', worker && (worker.dead ? `${worker.identity} (dead: its lease has ended)` : worker.identity)],
    ['progress', progress && progressText(progress)],
    ['limit', limit && limitText(limit)],
    ['task', task && `${task.id} (${task.name}, ${task.state}), row ${count(task.row)}: ${event?.status}`],
    ['batch', batch && `${batch.bid} (${batch.state}), ${count(batch.pending)} of ${count(batch.total)} pending`],
    ['locks', locks.join(' ')],
    ['failures', job && failuresOf(job)],
    ['crashes', crashes !== undefined && count(crashes)],
    ['error', failure ?? errorOf(job)],
    ['result', view.result !== undefined && stringifyJson(view.result)],
  ]
  const shown = rows.flatMap(([label, value]): [string, string][] => (value ? [[label, plain(value)]] : []))
  const times = timeline.map(({ at, what }): [string, string] => [time(at), plain(what)])
  const frames = job?.backtrace?.map((frame) => `  ${plain(frame)}`) ?? []
  return [
    pairs(shown),
    ...(times.length > 0 ? ['', pairs(times)] : []),
    ...(frames.length > 0 ? ['', ...frames] : []),
  ].join('\n')
}

/** Formats how often a job has failed; '' for one that has not. */
export function failuresOf({ retryCount }: JobRecord): string {
  return retryCount === null ? '' : count(retryCount + 1)
}

function errorOf(job: JobRecord | null): string {
  return [job?.errorClass, job?.errorMessage].filter(Boolean).join(': ')
}

function progressText({ done, total, note }: NonNullable<JobView['progress']>): string {
  const parts = [total === undefined ? count(done) : `${count(done)} of ${count(total)}`, ...(note ? [note] : [])]
  return parts.join(', ')
}

function limitText(limit: LimitView): string {
  const { key, concurrency, used, waiting } = limit
  const slots = concurrency && used !== undefined ? [`${count(used)} of ${count(concurrency)} slots used`] : []
  const others = waiting === undefined ? [] : [`${count(waiting)} waiting`]
  return [`${limitName(limit)}${key === null ? '' : `, key ${key}`}`, ...slots, ...others].join(', ')
}
