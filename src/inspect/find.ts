/** Where a job is. */

import type { AppPort } from '../app/port.ts'
import type { Payload } from '../job/payload.ts'
import { Queue } from './queue.ts'
import { JobRecord } from './record.ts'
import { JobSet } from './set.ts'
import { findByJid } from './walk.ts'

/**
 * `backlog` – a task's row that waits inside its task. `ended` – a task's row that has ended, which its event tells, and of
 * which nothing is left. `unknown` – no such job is anywhere: it is done, or never was.
 */
export type JobState = 'queued' | 'running' | 'scheduled' | 'retry' | 'dead' | 'backlog' | 'ended' | 'unknown'

export interface Found {
  state: JobState
  /** null when nothing is left of it. */
  queue: string | null
  payload: Payload | null
  job: JobRecord | null
}

const PAGE = 500

/**
 * Looks everywhere, along the way that a job goes, so that one which goes on meanwhile is still met; twice, for one that
 * goes back. A task's row is looked for only while its event says that there is something to find.
 */
export async function findJob(app: AppPort, jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<Found> {
  const store = app.store
  for (let attempt = 1; ; attempt++) {
    const event = await store.tasks.event(jid)
    const isOver = event !== null && event.status !== 'enqueued' && event.status !== 'working'
    const found = await search(app, jid, isOver ? ['dead'] : LOCATIONS, signal)
    if (found) return found
    if (isOver) return nothing('ended')
    if (attempt === 2) return nothing(event === null ? 'unknown' : event.status === 'working' ? 'running' : 'backlog')
  }
}

type Location = 'sets' | 'queues' | 'owners' | 'dead'
const LOCATIONS: readonly Location[] = ['sets', 'queues', 'owners', 'dead']

async function search(
  app: AppPort,
  jid: string,
  locations: readonly Location[],
  signal?: AbortSignal,
): Promise<Found | null> {
  const how = signal ? { signal } : {}
  const inSet = async (set: 'schedule' | 'retry' | 'dead', state: JobState) => {
    const job = await new JobSet(app, set).find(jid, how)
    return job && foundAs(state, job)
  }
  const searches: Record<Location, () => Promise<Found | null>> = {
    sets: async () => (await inSet('schedule', 'scheduled')) ?? (await inSet('retry', 'retry')),
    queues: async () => {
      for (const { name, size } of await app.store.jobs.queues()) {
        const job = size > 0 ? await new Queue(app, name).find(jid, how) : null
        if (job) return foundAs('queued', job)
      }
      return null
    },
    owners: async () => {
      const job = await heldBy(app, jid, signal)
      return job ? foundAs('running', job) : null
    },
    dead: () => inSet('dead', 'dead'),
  }
  for (const location of locations) {
    const found = await searches[location]()
    if (found) return found
  }
  return null
}

/** With one of our owners, or shown by a process of another program. */
async function heldBy({ store, now }: AppPort, jid: string, signal?: AbortSignal): Promise<JobRecord | null> {
  const jobOf = ({ text, queue }: { text: string; queue: string }) => new JobRecord(text, { queue, now })
  const ours = await findByJid(jid, (_, after) => store.workers.fetched({ after, limit: PAGE }), jobOf, signal)
  return ours ?? (await store.workers.running()).map(jobOf).find((job) => job.jid === jid) ?? null
}

function foundAs(state: JobState, job: JobRecord): Found {
  return { state, queue: job.queue, payload: job.payload as Payload, job }
}

function nothing(state: JobState): Found {
  return { state, queue: null, payload: null, job: null }
}
