/** A task as a stream of server-sent events. */

import { createHash } from 'node:crypto'
import { codeOf } from '../../../job/errors.ts'
import { stringifyJson } from '../../../job/json.ts'
import { endOfToken } from '../../../tasks/link.ts'
import { isOver, type TaskStatus } from '../../../tasks/task.ts'
import { tokenOf } from '../../access/access.ts'
import { eventStream, STREAM_HEADERS } from '../../live/event-stream.ts'
import { get, type Route } from '../../server/route.ts'
import type { ServerContext } from '../../server/server-context.ts'
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
  async run({ hq, server, request, url, path, link }) {
    const status = await statusWithoutMeta(hq, path)
    const seen = request.headers.get('last-event-id') ?? ''
    if (isOver(status) && seen === nameOf(status)) return new Response(null, { status: 204 })
    const leave = server.streams.enter(link && status.id)
    const { unreadSeconds } = server.limits
    const access =
      link && linkAccess(server, { id: status.id, token: tokenOf(request, url) ?? '', now: () => hq.now() })
    let known = seen
    const stream = eventStream<TaskStatus | null>({
      unreadSeconds,
      isOver: () => access?.hasEnded() === true,
      onEnd: leave,
      subscribe(offer) {
        offer(status)
        return server.watchTask(status.id, {
          onStatus(now) {
            access?.check()
            offer(now)
          },
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

/** How often the store is asked whether the link of a stream was revoked. */
const CHECK_MS = 1000

/** Watches the link of a stream. `hasEnded` returns whether it has expired or was revoked, as of the last `check`. */
function linkAccess({ links }: ServerContext, { id, token, now }: { id: string; token: string; now: () => number }) {
  const until = endOfToken(token)
  let isRevoked = false
  let checkedAt = performance.now()
  return {
    hasEnded: () => isRevoked || (until !== undefined && now() >= until * 1000),
    check(): void {
      if (performance.now() - checkedAt < CHECK_MS) return
      checkedAt = performance.now()
      links.opens({ task: id }, token).then(
        () => {},
        (thrown) => {
          // A task that was deleted is reported by the poller. A store that does not answer is asked again.
          if (codeOf(thrown) === 'UNAUTHORIZED') isRevoked = true
        },
      )
    },
  }
}
