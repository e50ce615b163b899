/** A task as a stream of server-sent events. */

import { createHash } from 'node:crypto'
import { stringifyJson } from '../../../job/json.ts'
import { isOver, type TaskStatus } from '../../../tasks/task.ts'
import { EventStream, STREAM_HEADERS } from '../../live/event-stream.ts'
import { type Route, route } from '../../server/route.ts'
import { statusOf } from './queries.ts'

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
  async run({ hq, server, request, path, link }) {
    const status = await statusOf(hq, path)
    const seen = request.headers.get('last-event-id') ?? ''
    if (isOver(status) && seen === nameOf(status)) return new Response(null, { status: 204 })
    const leave = server.streams.enter(link && status.id)
    const { unreadSeconds } = server.limits
    let known = seen
    const stream = new EventStream<TaskStatus | null>({
      unreadSeconds,
      onEnd: leave,
      subscribe(offer) {
        offer(status)
        return server.taskPoller.watch(status.id, {
          onStatus: offer,
          onError: () => {
            // The store is away: it is looked again, and the client sees the beats.
          },
        })
      },
      format(now) {
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
