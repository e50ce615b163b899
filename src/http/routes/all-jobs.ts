/** Routes of the jobs of all states: a list, counts, and actions on all that match. */

import { PROGRAM } from '../../app.ts'
import { secondsOf } from '../../client/push-json.ts'
import type { JobAction, JobHit, JobsFilter } from '../../index.ts'
import { checkAction, JOB_ACTIONS, SEARCHED_STATES } from '../../inspect/all-jobs.ts'
import { SetEntry } from '../../inspect/entry.ts'
import { QueuedJob } from '../../inspect/queue.ts'
import { given } from '../../job/options.ts'
import { checkMetaFilter } from '../../tasks/meta.ts'

import { named } from '../access/audit.ts'
import type { Seal } from '../access/seal.ts'
import { JobsFilter as FilterBody, Selected } from '../schemas/jobs.ts'
import { json } from '../server/answer.ts'
import { instant, integer, listOf, membersOf } from '../server/parameter.ts'
import { get, ok, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { refuseHidden } from './hidden-meta.ts'
import { cursor, keyOfEntry, keyOfQueued, type NamedJob, positionOf } from './job-key.ts'
import { FILTER } from './job-sets.ts'
import { hitSummaryOf } from './job-summary.ts'
import { sweepRoute } from './sweep.ts'

const PATH = '/api/v1/jobs'
const QUERY = {
  state: listOf(SEARCHED_STATES, 'the states of the jobs; default all'),
  ...FILTER,
  meta: membersOf('rows of tasks with this value in their meta: `meta.user=7`'),
  from: instant('the time of the job (`at`) is not before this'),
  until: instant('its time is before this'),
}

const SUMMARIES: Record<JobAction, [id: string, summary: string]> = {
  retry: [
    'retryAllJobs',
    'All matching jobs that failed are sent to their queues, and their retry counts are decremented; rejected rows run again, and dead ids of ordered queues wait again',
  ],
  addToQueue: ['addToQueueAllJobs', 'All matching jobs that are scheduled or done are sent to their queues'],
  kill: ['killAllJobs', 'All matching jobs that wait for their time are moved to the dead set'],
  delete: ['deleteAllJobs', 'All matching jobs that wait or have ended are deleted'],
  cancel: ['cancelAllJobs', 'All matching jobs that run, and rows in backlogs, are cancelled'],
}

export const ALL_JOBS_ROUTES: Route[] = [
  post(`${PATH}/cancel`, {
    id: 'cancelSelectedJobs',
    summary: 'Cancels these jobs, wherever they are; keys are ignored',
    body: { content: { 'application/json': 'Selected' } },
    answers: ok('Acted', 'The result; jobs that were not found are refused'),
    async run(call) {
      const { jobs } = await bodyOf(call, Selected)
      const answers = await call.hq[PROGRAM].cancel(jobs.flatMap(({ jid }) => jid || []))
      const isCancelled = ({ jid }: NamedJob) => (answers.get(jid) ?? 'not-found') !== 'not-found'
      const refused = jobs.filter((job) => !isCancelled(job))
      const done = jobs.length - refused.length
      call.audit({ count: done, jids: named(jobs.map(({ jid }) => jid)) })
      const [first] = refused
      const error = first && `job ${JSON.stringify(first.jid.slice(0, 100))} is neither enqueued nor running`
      return json({ done, refused: refused.length, ...(first ? { error, problem: 'gone' } : {}) })
    },
  }),
  get(PATH, {
    id: 'listJobs',
    summary: 'Lists the jobs of all states, or of some, state by state',
    query: { ...QUERY, cursor, limit: integer(1, 500, 50, 'items on one page') },
    answers: ok('JobHitList', 'A page. A filtered page may have no items although `next` is set.'),
    async run({ hq, server, query: { cursor, limit, state, ...filter } }) {
      refuseHidden(server.redaction, filter.meta)
      const seal = await server.seal()
      const options = { after: await positionOf(server, 'all jobs', cursor), limit }
      const { view } = server.redaction
      const { items, next, scanned } = await hq.jobs.search(given({ ...filter, states: state }), options, view)
      return json({
        items: items.map((hit) => hitSummaryOf(server.redaction, hit, keyOf(seal, hit))),
        next: next === null ? null : seal.close(next, 'all jobs'),
        scanned,
      })
    },
  }),
  // These come before the routes of one job, since `counts` and `all` are not job ids.
  get(`${PATH}/counts`, {
    id: 'countJobs',
    summary: 'Counts the jobs of each state that match',
    query: QUERY,
    answers: ok('JobCounts', 'The counts of what was scanned in a quarter of a second'),
    async run({ hq, server, query: { state, ...filter } }) {
      refuseHidden(server.redaction, filter.meta)
      return json({ items: await hq.jobs.count(given({ ...filter, states: state }), server.redaction.view) })
    },
  }),
  ...(Object.keys(JOB_ACTIONS) as JobAction[]).map((action) => {
    const [id, summary] = SUMMARIES[action]
    const body = { name: 'JobsFilter', schema: FilterBody, isRequired: true } as const
    return sweepRoute(`${PATH}/all/${action}`, id, summary, body, ({ hq, server }, { state, from, until, ...rest }) => {
      const filter = given({ ...rest, states: state, from: dateOf('from', from), until: dateOf('until', until) })
      // A wrong filter is refused before the lines of progress begin.
      checkAction(action, filter as JobsFilter)
      const { meta } = filter as JobsFilter
      if (meta !== undefined) checkMetaFilter('the filter', meta)
      refuseHidden(server.redaction, meta)
      return (options) => hq.jobs.act(action, filter as JobsFilter, options, server.redaction.view)
    })
  }),
]

function dateOf(name: string, at: string | number | undefined): Date | undefined {
  return at === undefined ? undefined : new Date(secondsOf(at, name) * 1000)
}

/** The key for the routes of the job's set or queue; other jobs have no such routes. */
function keyOf(seal: Seal, { state, job }: JobHit): string {
  if (job instanceof QueuedJob) return keyOfQueued(seal, job)
  return job instanceof SetEntry && state !== 'limited' ? keyOfEntry(seal, job, false) : ''
}
