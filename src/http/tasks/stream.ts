/** A task as a stream of server-sent events. */

import { createHash } from 'node:crypto'
import { stringifyJson } from '../../job/json.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { EventStream, STREAM_HEADERS } from '../event-stream.ts'
import { type Route, route } from '../route.ts'
import { statusOf } from './task.ts'

export const STREAM_ROUTE: Route = route({
  method: 'GET',
  path: '/api/v1/tasks/{id}/stream',
  summary: 'How far a task is, told when it changes: `status` at most 4 a second, then `done`',
  access: 'task',
  headers: { 'last-event-id': 'what was seen last is not told again' },
  answers: {
    200: {
      description: 'Events with a TaskStatus each; `deleted`, without one, when the task is no more',
      content: { 'text/event-stream': { type: 'string' } },
    },
    204: { description: 'All was told already: there is no need to come again' },
  },
  async run({ hq, site, request, path, link }) {
    const status = await statusOf(hq, path)
    const seen = request.headers.get('last-event-id') ?? ''
    if (isOver(status) && seen === nameOf(status)) return new Response(null, { status: 204 })
    const leave = site.streams.enter(link && status.id)
    const { unreadSeconds } = site.limits
    let known = seen
    const stream = new EventStream<TaskStatus | null>({
      unreadSeconds,
      leave,
      begin(offer) {
        offer(status)
        return site.watches.watch(status.id, {
          sees: offer,
          fails: () => {
            // The store is away: it is looked again, and the client sees the beats.
          },
        })
      },
      told(now) {
        if (now === null) return { text: 'event: deleted\ndata: null\n\n', isLast: true }
        const name = nameOf(now)
        const data = stringifyJson(now)
        const news = name === known ? '' : `id: ${name}\nevent: status\ndata: ${data}\n\n`
        known = name
        if (!isOver(now)) return { text: news, isLast: false }
        return { text: `${news}id: ${name}\nevent: done\ndata: ${data}\n\n`, isLast: true }
      },
    })
    return new Response(stream.body, { headers: STREAM_HEADERS })
  },
})

/** What of a status is news: not the time that it takes. */
function nameOf({ ratePerSecond, etaSeconds, ...news }: TaskStatus): string {
  return createHash('sha1').update(stringifyJson(news)).digest('base64url').slice(0, 16)
}
