/** The lists of queues and of processes for the dashboard: read once for all clients, and sent as changes. */

import type { Highkiq } from '../../app.ts'
import { REUSED_MS, type StoreReads } from '../../inspect/store-reads.ts'
import { cached } from '../../job/cached.ts'
import { sizesOfLastHour } from '../../metrics/queue-sizes.ts'
import { dateOf } from '../schemas/times.ts'
import type { Made } from '../schemas.ts'
import { ChangeLog, type Changes } from './change-log.ts'
import { processOf } from './process-fields.ts'
import { type ServedQueue, servedQueues } from './served-queues.ts'

type LiveQueue = Made<'LiveQueue'>
type LiveProcess = Made<'LiveProcess'>

/** The most queues of a process that are sent. */
const MOST_QUEUES = 20

/** How long the sizes of the last hour are reused: they change every five minutes. */
const SIZES_MS = 60_000

export function liveLists(hq: Highkiq, reads: StoreReads) {
  const sizesOfHour = cached(SIZES_MS, () => sizesOfLastHour(hq, hq.now()))
  const queues = liveList(
    async () => {
      const { queues, now } = await reads.queues()
      const [served, sizes] = await Promise.all([servedQueues(reads, queues), sizesOfHour()])
      return served.map((queue) => liveQueueOf(queue, now, sizes.get(queue.name) ?? []))
    },
    ({ name }) => name,
  )
  const processes = liveList(
    async () => {
      const now = hq.now()
      return (await reads.processes()).map((process): LiveProcess => {
        const { definedQueues: _, queues, ...rest } = processOf(process, now)
        return { ...rest, queues: queues.slice(0, MOST_QUEUES), moreQueues: Math.max(queues.length - MOST_QUEUES, 0) }
      })
    },
    ({ identity }) => identity,
  )
  return {
    queues: queues.since,
    processes: processes.since,
    /** Forgets what was read, because this server has changed something. */
    forget() {
      reads.forget()
      queues.forget()
      processes.forget()
    },
  }
}

function liveList<Item>(read: () => Promise<Item[]>, keyOf: (item: Item) => string) {
  const log = new ChangeLog(keyOf)
  let asked = 0
  let noted = 0
  const refresh = cached(REUSED_MS, async () => {
    const number = ++asked
    const items = await read()
    // A read that began earlier may end later.
    if (number < noted) return
    noted = number
    log.update(items)
  })
  return {
    async since(version: string | undefined): Promise<Changes<Item>> {
      await refresh()
      return log.since(version)
    },
    forget: refresh.forget,
  }
}

/** A time instead of a latency: it is the same as long as the queue has the same next job. */
function liveQueueOf(queue: ServedQueue, now: number, sizes: (number | null)[]) {
  const { name, size, limited, backlog, paused, slots, maxLength, latency, serving } = queue
  const waitingSince = latency > 0 ? dateOf(Math.round(now - latency * 1000) / 1000) : null
  const figures = { size, limited, maxLength, backlog, slots, processes: serving.length }
  const live: LiveQueue = { name, ...figures, sizes, waitingSince, paused }
  return live
}
