/** The status of a task as text and as an exit code. */

import type { Task, TaskEvent, TaskStatus } from '../index.ts'
import { hasTooManyFailures, UNSUCCESSFUL_STATUSES } from '../index.ts'
import { stringifyJson } from '../job/json.ts'
import { endedOf } from '../tasks/task.ts'
import { type AppOptions, sameApp } from './open-app.ts'
import { count, duration, pairs, plain, plural, rate, time } from './output.ts'

const SHOWN = 5

/** Exit code: 0 all rows finished, 3 some were rejected, 1 the task was interrupted or paused. */
export function outcomeCode(status: TaskStatus): 0 | 1 | 3 {
  if (status.state === 'interrupted' || status.state === 'paused') return 1
  return rejectedOf(status) > 0 ? 3 : 0
}

export function rejectedOf({ counts: { failed, error, cancelled } }: TaskStatus): number {
  return failed + error + cancelled
}

/** Formats the counts that are above 0: `9,929 finished, 71 failed`. */
function countsText({ counts, backlog, retrying, deferred }: TaskStatus): string {
  const { finished, failed, error, cancelled, working, enqueued } = counts
  const parts = [
    `${count(finished)} finished`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(error > 0 ? [plural(error, 'error')] : []),
    ...(cancelled > 0 ? [`${count(cancelled)} cancelled`] : []),
    ...(working > 0 ? [`${count(working)} working`] : []),
    ...(deferred > 0 ? [`of which ${count(deferred)} for another system`] : []),
    ...(enqueued > 0 ? [`${count(enqueued)} waiting`] : []),
    ...(retrying > 0 ? [`of which ${count(retrying)} for a retry`] : []),
    ...(backlog > 0 ? [`of which ${count(backlog)} in the backlog`] : []),
  ]
  return parts.join(', ')
}

export function statusText(status: TaskStatus): string {
  const { id, name, job, state, run, total, percent, createdAt, finishedAt, ratePerSecond, etaSeconds, meta } = status
  const open = finishedAt === null
  const so = state === 'adding' ? 'so far (still reading)' : `(${Math.floor(percent)}%)`
  return pairs([
    ['task', id],
    ['name', name],
    ['job', job],
    ...(meta ? [['meta', metaText(meta)] as const] : []),
    ['state', status.reason === undefined ? state : `${state}: ${status.reason}`],
    ['rows', `${count(endedOf(status.counts))} of ${count(total)} ended ${so}`],
    ['', countsText(status)],
    ['window', `${windowText(status)} in the queue or running at once`],
    ['max failures', maxFailuresText(status)],
    ['rate', `${rate(ratePerSecond)} on average${run === 1 ? '' : ` in run ${run}`}`],
    ...(open && etaSeconds !== null ? [['left', duration(Math.ceil(etaSeconds))] as const] : []),
    ['created', time(createdAt)],
    ...(finishedAt ? [['ended', `${time(finishedAt)}, after ${tookOf(status)}`] as const] : []),
  ])
}

/** Formats members as `task list --meta` takes them. */
function metaText(meta: NonNullable<TaskStatus['meta']>): string {
  const valueText = (value: unknown) => (typeof value === 'string' ? value : stringifyJson(value))
  return Object.entries(meta)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(', ')
}

function windowText({ window, rowsPerJob }: TaskStatus): string {
  return rowsPerJob === null ? plural(window, 'row') : `${plural(window, 'job')} of up to ${plural(rowsPerJob, 'row')}`
}

function maxFailuresText({ maxFailures, onMaxFailures }: TaskStatus): string {
  if (maxFailures === null) return 'unlimited'
  const rows = typeof maxFailures === 'number' ? plural(maxFailures, 'row') : `${maxFailures} of the rows`
  return `${rows}, then ${onMaxFailures === 'pause' ? 'the task pauses' : 'the rest is cancelled'}`
}

/** Returns the commands that resume a paused task, or undefined when nothing stops it. */
export function resumeHint(status: TaskStatus, options: AppOptions): string | undefined {
  const { id, state, onMaxFailures } = status
  const command = (name: string) => `highkiq task ${name}${sameApp(options)}`
  const allow = command(`set ${id} --max-failures all`)
  if (hasTooManyFailures(status)) {
    const action = onMaxFailures === 'pause' ? 'pauses the task again' : 'cancels the rest'
    if (state === 'paused') return `to resume: ${allow}, then ${command(`resume ${id}`)}`
    return state === 'done' || state === 'cancelled' || state === 'cancelling'
      ? undefined
      : `more rows were rejected than --max-failures allows, so the next rejected row ${action}; to allow more: ${allow}`
  }
  return state === 'paused' ? `to resume: ${command(`resume ${id}`)}` : undefined
}

/** Returns the last lines of an import: how the task ended, with the first rejected rows. */
export async function summary(task: Task, status: TaskStatus): Promise<string> {
  const rejected = rejectedOf(status)
  const state = status.state === 'interrupted' ? 'adding its rows was interrupted' : status.state
  const why = status.state === 'paused' && status.reason !== undefined ? ` (${plain(status.reason)})` : ''
  const lines = [`task ${task.id}: ${state}${why} after ${tookOf(status)}`, `  ${countsText(status)}`]
  if (rejected > 0) {
    let shown = 0
    for await (const event of task.events({ status: [...UNSUCCESSFUL_STATUSES] })) {
      lines.push(`  row ${count(rowOf(event))}: ${reasonOf(event)}`)
      if (++shown === SHOWN) break
    }
    if (rejected > SHOWN) lines.push(`  … and ${plural(rejected - SHOWN, 'more row', 'more rows')}`)
  }
  return lines.join('\n')
}

/** Returns the command that writes the rejected rows to a file. */
export function reportHint(task: Task, options: AppOptions): string {
  return `to get the rejected rows as a file: highkiq task report ${task.id} rejected.xlsx${sameApp(options)}`
}

/** Returns the row's number in the file, else its index in the task, from 1. */
export function rowOf({ number, index }: TaskEvent): number {
  return number ?? index + 1
}

/** Returns the last message of a row; for a row that waits for a retry, also the error before it. */
export function reasonOf({ messages, code, status }: TaskEvent): string {
  const texts = messages.map(({ text }) => text).filter((text) => text !== 'working')
  const last = texts.at(-1)?.startsWith('waiting for retry') ? texts.slice(-2).join('; ') : texts.at(-1)
  if (last === undefined) return code ?? status
  return plain(code ? `${last} [${code}]` : last)
}

function tookOf({ runAt, finishedAt }: TaskStatus): string {
  return duration(((finishedAt ?? new Date()).getTime() - runAt.getTime()) / 1000)
}
