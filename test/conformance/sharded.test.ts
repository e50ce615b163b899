import { describe, test } from 'vitest'
import type { StoreFactory } from './factory.ts'
import { conformance } from './index.ts'
import { file } from './sqlite.ts'

/** Two files that are one store. */
const shards: StoreFactory = {
  shared: true,
  async create() {
    const files = [await file.create(), await file.create()]
    return {
      url: files.map(({ url }) => url).join(' '),
      async destroy() {
        for (const one of files) await one.destroy()
      },
      contents: async () => (await Promise.all(files.map((one) => one.contents?.() ?? []))).flat(),
    }
  },
}

/** The cases that a sharded store does not pass, by the reason. */
const LEFT_OUT: Record<string, readonly string[]> = {
  'The jobs of two shards have no order.': [
    'jobs: jobs of all kinds in one push keep the order of their queue',
    'jobs: a repeated push with once is stored once, also with another text or destination, or after its job has ended',
    'crons: a tick may push to any destination',
  ],
  'A unique job can be neither in a batch nor in a cron entry.': [
    'batches: a batch whose every job is refused because of a lock ends at once, and so does the one around it',
    'batches: a job that has its lock already is refused, and jobs that are refused change no earlier batch',
    'batches: a job whose lock another job holds is no member of the batch, and the batch ends with the others',
    'batches: a job with a lock that comes twice in one push is stored once, or refuses the push with raise',
    'batches: a lock whose time is over refuses no job of a batch, and a scheduled job says when it is due',
    'batches: a step that is pushed again is repeated, and not held by its own locks',
    'batches: with raise, a lock that is held refuses the whole push of batches, and no lock is taken',
    'crons: a tick whose unique job needs a lock that another job has changes nothing, else it acquires the lock',
    'events: an event of a job that a batch pushes, kills or drops is recorded in that step, with its time',
  ],
  'Each shard has a recording of its own, so a reader reads several.': [
    'events: a move of a job by hand records its event, and a job that is gone records none',
    'events: a push of many jobs keeps their order, whether they record events or not',
    'events: a push records its events, of single jobs, many jobs, and jobs of a set, with numbers without a gap',
    'events: a push that stores nothing records nothing: repeated with once, or refused because of a lock',
    'events: a reader learns that the event which it has read last is another one by now, or is not kept any more',
    'events: a reader waits for the next event, also of another connection, until its time is over or its signal aborts',
    'events: a recording keeps the newest events, and a reader of older ones learns that they are gone',
    'events: a step records what started and ended, each attempt once, and nothing of an owner that was claimed',
    'events: an old event is kept while it is the newest, so that a reader finds its place',
    'events: events that are too old are deleted when the recording is extended',
    'events: nothing is recorded without a recording, and one begins when it is asked for',
    'workers: a step keeps finished jobs and records their events, beside jobs that are not kept',
  ],
  'Pages of jobs are moved to one shard, not to all of them.': [
    'transfers: a page that was put without jobs is void for ever',
    'transfers: a task is the same in the other store: rows, events, results, files, backlog, and it runs to its end there',
    'transfers: an id in flight is not taken, and a page that is void is not stored',
    'transfers: of racing puts of one page one stores the jobs, and all have the same answer',
    'transfers: put requests the cancellations of its jobs in the same step, once',
    'transfers: put stores the jobs of a page once, also when it is repeated with other jobs',
    'transfers: put takes the free locks of a job; a lock that another job has does not stop it',
    'transfers: put wakes a worker that waits for jobs',
    'workers: finished jobs with effects, and those of another store, are removed in the order of their ends',
  ],
  'They change one job in a step of another job, which may be on another shard.': [
    'jobs: a settlement saves and deletes iterations in its own step, and a fenced one does not',
    'jobs: swaps and rescues change iterations',
    'crons: a lock is released with a settlement, a swap or a rescue, and by its holder alone',
    'results: a push deletes the kept result of its job if the job is stored, and a move does so, too',
    'search: while a job has a lock, jobs with any of the needles are returned and kept, and all others are dropped',
    'workers: clearing a queue drops the jobs with all priorities, except those with a needle',
    'cancellations: the call that fetches a job returns the version of every earlier cancellation',
    'cancellations: the cancellation of a job that ended by itself is cleared, and clearing a job without one has no effect',
  ],
  'Jobs wait for limits whose slots are on another shard.': [
    'limits: a limit that a deploy has changed is checked at once, with its new numbers',
    'limits: a limit that only was set has its numbers in the store alone, and without them lets every job start',
    "limits: a limit whose jobs can't be moved is postponed, until a slot is freed",
    'limits: a rate that was set takes the place of that of the code, and jobs that wait for room are checked at once',
    'limits: a rate whose jobs wait is not checked sooner because its slots are looked at, or because it is listed',
    'limits: a slot can be freed before its attempt is settled',
    'limits: a slot that becomes free while a job waits wakes those who wait for due jobs, and the job has room then',
    'limits: an attempt gets room in all of its limits, or takes nothing of any',
    'limits: more than a hundred waiting jobs have room at once, and the next check is when the rate has room again',
    'limits: waiting jobs have as much room as the rate and the slots leave',
    'limits: jobs that were called for the room of a burst keep it until they start, and then the next ones have room',
    'limits: limits are checked in the order in which they had room, so that none starves',
    'limits: the room that a job was called for goes to the next one when that job ends without taking it',
    'limits: the slots of an owner without a lease are freed, and a job that waits for one has room',
  ],
}
const leftOut = new Set(Object.values(LEFT_OUT).flat())

conformance(
  { describe, test },
  'two shards',
  shards,
  ({ area, name, isLong }) => !isLong && !leftOut.has(`${area}: ${name}`),
)
