/** Actions on selected jobs of several states, and on all that match. */

import { ask, sendRequest } from '../../api/client.ts'
import type { Acted, JobCounts, JobHit, SearchedState } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { reportOutcome, showToast } from '../../components/toast.tsx'
import { refusalText } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'
import { act, partsOf, toastOf, whyOf } from '../job-sets/actions.ts'
import { ACTIONS, type Action, type ActionName, setOf } from '../job-sets/kinds.ts'
import { type SweepName, sweepAll } from '../job-sets/sweep.tsx'
import { pathOf } from '../queues/queued.tsx'
import { retryRowsByJid } from '../tasks/retry-rows.ts'
import { bodyOf, filterText, STATES } from './filter.ts'

/** The list that shows the progress of an action on all that match. */
export const LIST = 'jobs'

/** Returns the actions that apply to the jobs of all of these states. */
export function actionsOn(states: readonly SearchedState[]): readonly Action[] {
  const [first, ...others] = new Set(states)
  if (first === undefined) return []
  return ACTIONS[first].filter(({ name }) => others.every((state) => ACTIONS[state].some((one) => one.name === name)))
}

/** Acts on jobs state by state; each state is a question of its own. Returns true when something was done. */
export async function actOnSome(name: ActionName, jobs: readonly JobHit[], undone: () => unknown): Promise<boolean> {
  let isDone = false
  for (const state of new Set(jobs.map((job) => job.state))) {
    const some = jobs.filter((job) => job.state === state)
    const set = setOf(state)
    const acted = set ? act(set, name, some, undone) : name === 'retry' ? retry(state, some) : remove(state, some)
    if (await acted) isDone = true
  }
  return isDone
}

/** Retries rejected rows, or dead ids of ordered queues. */
async function retry(state: SearchedState, jobs: readonly JobHit[]): Promise<boolean> {
  const acting = state === 'rejected' ? retryRowsByJid(jobs.map(({ jid }) => jid)) : actOnIds('morgue/resurrect', jobs)
  const acted = await reportOutcome(acting, (all) => toastOf('retry', all))
  return acted !== undefined && acted.done > 0
}

/** Acts on ids of ordered queues, by a request for each queue. A queue whose request fails does not stop the others. */
async function actOnIds(path: 'morgue/resurrect' | 'morgue/delete' | 'waiting/delete', jobs: readonly JobHit[]) {
  const sum: Acted = { done: 0, refused: 0 }
  for (const queue of new Set(jobs.map((job) => job.queue))) {
    const ids = jobs.flatMap((job) => (job.queue === queue ? (job.orderedId ?? []) : []))
    const request = sendRequest<{ ids: number }>('POST', `/ordered/${encoded(queue)}/${path}`, { ids })
    const { ids: done } = await request.catch((thrown: Error) => {
      sum.error ??= `${queue}: ${refusalText(thrown)}`
      return { ids: 0 }
    })
    sum.done += done
    sum.refused += ids.length - done
  }
  return sum
}

/** Deletes jobs that wait, or cancels jobs that run and rows in backlogs. */
async function remove(state: SearchedState, jobs: readonly JobHit[]): Promise<boolean> {
  const isCancelled = ACTIONS[state].some(({ name }) => name === 'cancel')
  const n = jobs.length
  const what = t(isCancelled ? 'sets.cancel.all' : 'jobs.delete', { n })
  const isMeant = await confirm({
    title: t('sets.ask', { what }),
    body: t(isCancelled ? 'sets.cancel.what' : 'sets.delete.what'),
    parts: partsOf(jobs),
    act: what,
    keep: t(isCancelled ? 'task.keepRunning' : 'confirm.keep', { n }),
    count: n,
  })
  if (!isMeant) return false
  const acted = await (state === 'queued'
    ? deleted(jobs)
    : state === 'ordered' || state === 'morgue'
      ? reportOutcome(actOnIds(state === 'morgue' ? 'morgue/delete' : 'waiting/delete', jobs))
      : reportOutcome(cancelled(jobs)))
  if (!acted) return false
  showToast(await toastOf(isCancelled ? 'cancel' : 'delete', acted))
  return acted.done > 0
}

/** Cancels jobs, wherever they are by now. */
function cancelled(jobs: readonly JobHit[]): Promise<Acted> {
  return sendRequest<Acted>('POST', '/jobs/cancel', { jobs: jobs.map(({ jid }) => ({ jid })) })
}

/** Deletes jobs of queues, each by a request of its own. */
async function deleted(jobs: readonly JobHit[]): Promise<Acted> {
  const answers = await Promise.allSettled(jobs.map((job) => deleteQueued(job)))
  const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [refusalText(answer.reason)] : []))
  const [error] = refusals
  return { done: jobs.length - refusals.length, refused: refusals.length, ...(error ? { error } : {}) }
}

async function deleteQueued({ jid, queue, key }: JobHit): Promise<void> {
  const acted = await sendRequest<Acted>('DELETE', pathOf(queue, jid), undefined, { key })
  if (acted.done === 0) throw new Error(await whyOf(acted))
}

/** The jobs that a search is about. */
export interface Searching {
  filter: Record<string, string>
  /** The chosen states; none means all. */
  states: readonly SearchedState[]
  counts: JobCounts | undefined
}

/**
 * Returns the actions on all that match, with the states to which each applies. Without a chosen state no action sends jobs
 * that are done to their queues again, and without any filter there are none.
 */
export function actionsOnAll({ filter, states, counts }: Searching): { act: Action; states: SearchedState[] }[] {
  if (states.length === 0 && Object.keys(filter).length === 0) return []
  const all = states.length > 0 ? states : (Object.keys(STATES) as SearchedState[])
  const filled = all.filter((state) => {
    const count = counts?.items.find((one) => one.state === state)
    return count !== undefined && (count.matching > 0 || !count.complete)
  })
  const actions = new Map<ActionName, { act: Action; states: SearchedState[] }>()
  for (const state of filled) {
    for (const one of ACTIONS[state]) {
      if (!one.isForAll || (state === 'succeeded' && one.name === 'addToQueue' && states.length === 0)) continue
      const known = actions.get(one.name)
      if (known) known.states.push(state)
      else actions.set(one.name, { act: one, states: [state] })
    }
  }
  return [...actions.values()]
}

/** Asks, with numbers of this moment, and acts on all jobs of these states that match. */
export function actOnAll(name: SweepName, states: readonly SearchedState[], { filter }: Searching) {
  return sweepAll(name, async () => {
    const { items } = await ask<JobCounts>('/jobs/counts', filter)
    const counts = items.filter(({ state }) => states.includes(state))
    return {
      list: LIST,
      path: '/jobs/all',
      body: { state: states, ...bodyOf(filter) },
      said: filterText(filter),
      count: counts.reduce((sum, { matching }) => sum + matching, 0),
      isExact: counts.every(({ complete }) => complete),
      deletion: (n) => t('jobs.delete', { n }),
      parts: counts.map(({ state, matching }) => ({ name: t(STATES[state]), count: matching })),
    }
  })
}
