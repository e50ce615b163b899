/** A task as a stream of server-sent events. */

import { createHash } from 'node:crypto'
import { stringifyJson } from '../job/json.ts'
import { isOver, type TaskStatus } from '../tasks/task.ts'
import { type Route, route } from './route.ts'
import type { Site } from './site.ts'
import { statusOf } from './task.ts'

/** At most; beats are what tells that a client does not read. */
const BEAT_MS = 15_000

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
  async run({ hq, site, request, path }) {
    const status = await statusOf(hq, path)
    const seen = request.headers.get('last-event-id') ?? ''
    if (isOver(status) && seen === nameOf(status)) return new Response(null, { status: 204 })
    const leave = site.streams.enter()
    const headers = {
      'content-type': 'text/event-stream',
      // Proxies would hold back what is to be seen at once.
      'x-accel-buffering': 'no',
      'cache-control': 'no-store, no-transform',
    }
    return new Response(new Telling(site, status, seen, leave).stream, { headers })
  },
})

/**
 * One client's stream. It keeps the newest status alone until that is asked for, so a client that does not read costs no
 * more than one that does, and is sent away after a while.
 */
class Telling {
  readonly stream: ReadableStream<Uint8Array>
  readonly #site: Site
  readonly #leave: () => void
  readonly #id: string
  readonly #beatMs: number
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #told: string
  #pending: TaskStatus | null | undefined
  #unread = 0
  #timers: NodeJS.Timeout[] = []
  #stop = () => {}

  constructor(site: Site, status: TaskStatus, seen: string, leave: () => void) {
    this.#site = site
    this.#leave = leave
    this.#id = status.id
    this.#told = seen
    this.#beatMs = Math.min(BEAT_MS, site.limits.unreadSeconds * 250)
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller
        // Headers and something behind them, so that a client knows at once that it is heard.
        this.#send('retry: 2000\n\n')
        this.#begin(status)
      },
      pull: () => this.#flush(),
      cancel: () => this.#end(),
    })
  }

  #begin(status: TaskStatus): void {
    this.#timers.push(setInterval(() => this.#beat(), this.#beatMs).unref())
    this.#stop = this.#site.watches.watch(this.#id, {
      sees: (now) => this.#see(now),
      fails: () => {
        // The store is away: it is looked again, and the client sees the beats.
      },
    })
    this.#see(status)
  }

  #see(status: TaskStatus | null): void {
    if (status && nameOf(status) === this.#told && !isOver(status)) {
      this.#pending = undefined
      return
    }
    this.#pending = status
    this.#flush()
  }

  #flush(): void {
    const status = this.#pending
    if (status === undefined || (this.#controller.desiredSize ?? 0) <= 0) return
    this.#pending = undefined
    if (status === null) {
      this.#send('event: deleted\ndata: null\n\n')
      this.#close()
      return
    }
    const name = nameOf(status)
    const data = stringifyJson(status)
    if (name !== this.#told) this.#send(`id: ${name}\nevent: status\ndata: ${data}\n\n`)
    this.#told = name
    if (!isOver(status)) return
    this.#send(`id: ${name}\nevent: done\ndata: ${data}\n\n`)
    this.#close()
  }

  #beat(): void {
    if ((this.#controller.desiredSize ?? 0) > 0) {
      this.#unread = 0
      this.#send(': still here\n\n')
    } else if (++this.#unread * this.#beatMs >= this.#site.limits.unreadSeconds * 1000) {
      this.#end()
      this.#controller.error(new Error('the client does not read'))
    }
  }

  #send(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text))
  }

  #close(): void {
    this.#end()
    this.#controller.close()
  }

  #end(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stop()
    this.#leave()
  }
}

/** What of a status is news: not the time that it takes. */
function nameOf({ ratePerSecond, etaSeconds, ...news }: TaskStatus): string {
  return createHash('sha1').update(stringifyJson(news)).digest('base64url').slice(0, 16)
}
