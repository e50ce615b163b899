/** The route of running jobs: filtered, counted, and a page at a time. */

import type { Running } from '../../index.ts'
import { filterOf } from '../../inspect/filter.ts'
import { all, parseList } from '../../job/json.ts'
import type { Redaction } from '../access/redact.ts'
import { timeOf } from '../schemas/times.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'
import { cursor, positionOf, wrongCursor } from './job-key.ts'
import { FILTER } from './job-sets.ts'
import { progressOf, summaryOf } from './job-summary.ts'

const STANDARD = 500
const MOST = 5000

interface RunningFilter {
  search: string | undefined
  class: string | undefined
  queue: string | undefined
  tag: string | undefined
  process: string | undefined
  seconds: number | undefined
}

export const RUNNING_ROUTE: Route = get('/api/v1/running', {
  id: 'listRunning',
  summary: 'Lists the running jobs, longest first, as of the last heartbeats',
  query: {
    search: FILTER.search,
    class: FILTER.class,
    queue: FILTER.queue,
    tag: text('a tag of the job'),
    process: text('the identity of the process'),
    seconds: integer(0, undefined, undefined, 'only jobs that have run for at least this many seconds'),
    cursor,
    limit: integer(1, MOST, STANDARD, 'the most items'),
  },
  answers: ok('RunningList', 'A page of the running jobs'),
  async run({ hq, server, query: { cursor, limit, ...filter } }) {
    const seal = await server.seal()
    const after = readCursor(await positionOf(server, 'running', cursor))
    const running = (await all(hq.running())).sort(inOrder)
    const matching = running.filter(matcherOf(filter, server.redaction, hq.now()))
    const rest = after === null ? matching : matching.filter((one) => inOrder(one, after) > 0)
    const items = rest.slice(0, limit)
    const last = items.at(-1)
    return json({
      items: items.map((one) => runningOf(server.redaction, one)),
      next: last && rest.length > limit ? seal.close(cursorOf(last), 'running') : null,
      matching: matching.length,
      total: running.length,
    })
  },
})

function matcherOf(filter: RunningFilter, redaction: Redaction, now: number): (one: Running) => boolean {
  const { search, class: name, queue, tag, process, seconds = 0 } = filter
  const inText = filterOf({ search, class: name }, redaction.view)
  const latest = now - seconds * 1000
  return (one) =>
    (queue === undefined || one.queue === queue) &&
    (process === undefined || one.process === process) &&
    (seconds === 0 || one.startedAt.getTime() <= latest) &&
    (tag === undefined || redaction.record(one).tags.includes(tag)) &&
    (inText === undefined || inText.matches(one.text))
}

/** Where a job is in the list. It keeps its position until it ends. */
type Position = Pick<Running, 'process' | 'thread'> & { startedAt: Date | number }

const cursorOf = ({ startedAt, process, thread }: Running) => JSON.stringify([startedAt.getTime(), process, thread])

/** @throws INVALID_REQUEST for the cursor of another list */
function readCursor(position: string | null): Position | null {
  if (position === null) return null
  const [startedAt, process, thread] = parseList(position)
  if (typeof startedAt === 'number' && typeof process === 'string' && typeof thread === 'string') {
    return { startedAt, process, thread }
  }
  throw wrongCursor()
}

function inOrder(a: Position, b: Position): number {
  const difference = Number(a.startedAt) - Number(b.startedAt)
  if (difference !== 0) return difference
  return compare(a.process, b.process) || compare(a.thread, b.thread)
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)

function runningOf(redaction: Redaction, running: Running) {
  const { key: _, bytes: __, ...rest } = summaryOf(redaction, running, '')
  const { process, thread, startedAt, progress } = running
  return { ...rest, process, thread, startedAt: timeOf(startedAt), progress: progressOf(redaction, progress) }
}
