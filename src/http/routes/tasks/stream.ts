/** A task as a stream of server-sent events. */

import { createHash } from 'node:crypto'
import { stringifyJson } from '../../../job/json.ts'
import { isOver, type TaskStatus } from '../../../tasks/task.ts'
import { eventStream, STREAM_HEADERS } from '../../live/event-stream.ts'
import { endOfCaller, watchCaller } from '../../server/caller-watch.ts'
import { get, type Route } from '../../server/route.ts'
import { statusWithoutMeta } from './queries.ts'

export const STREAM_ROUTE: Route = get('/api/v1/tasks/{id}/stream', {
  id: 'streamTask',
  errors: ['UNKNOWN_TASK'],
  summary: 'Streams the status of a task when it changes: `status` at most 4 times a second, then `done`',
  access: 'task',
  headers: { 'last-event-id': 'the last event is not repeated' },
  answers: {
    200: {
      description: 'Events with a TaskStatus each; `deleted`, without data, when the task was deleted',
      content: { 'text/event-stream': { type: 'string' } },
    },
    204: { description: 'The client has received everything, and need not reconnect' },
  },
  async run(call) {
    const { hq, server, request, path } = call
    const status = await statusWithoutMeta(hq, path)
    const seen = request.headers.get('last-event-id') ?? ''
    if (isOver(status) && seen === nameOf(status)) return new Response(null, { status: 204 })
    const leave = server.streams.enter(call.linkHolder)
    const { unreadSeconds } = server.limits
    let known = seen
    const stream = eventStream<TaskStatus | null>({
      unreadSeconds,
      isOver: endOfCaller(watchCaller(call, status.id)),
      onEnd: leave,
      subscribe(offer) {
        offer(status)
        return server.watchTask(status.id, {
          onStatus: offer,
          onError: () => {
            // The store does not answer: the poller tries again, and the client receives comments.
          },
        })
      },
      format(now) {
        if (now === null) return { text: 'event: deleted\ndata: null\n\n', isLast: true }
        const name = nameOf(now)
        const data = stringifyJson(now)
        const text = name === known ? '' : `id: ${name}\nevent: status\ndata: ${data}\n\n`
        known = name
        if (!isOver(now)) return { text, isLast: false }
        return { text: `${text}id: ${name}\nevent: done\ndata: ${data}\n\n`, isLast: true }
      },
    })
    return new Response(stream, { headers: STREAM_HEADERS })
  },
})

/** Returns an id for a status; a change of the estimated time alone does not change it. */
function nameOf({ ratePerSecond, etaSeconds, ...shown }: TaskStatus): string {
  return createHash('sha1').update(stringifyJson(shown)).digest('base64url').slice(0, 16)
}
