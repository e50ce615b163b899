/** The events of jobs, as server-sent events. */

import type { JobEvents } from '../../events/events.ts'
import { JOB_EVENT_KINDS, type JobEvent, readPositions } from '../../events/job-event.ts'
import { codeOf, HighkiqError } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import type { Redaction } from '../access/redact.ts'
import { eventStream, STREAM_HEADERS } from '../live/event-stream.ts'
import { type ErrorBody, errorBody } from '../server/answer.ts'
import { endOfCaller, watchCaller } from '../server/caller-watch.ts'
import { listOf, text, texts } from '../server/parameter.ts'
import { get, type Route } from '../server/route.ts'

/** The next text of the stream. `sent` is called once the text is in the buffer of the connection. */
type Update =
  | { event: JobEvent; position: string; sent: () => void }
  | { position: string; sent: () => void }
  | { trouble: unknown }
  | { isClosed: true }

export const EVENTS_ROUTE: Route = get('/api/v1/events', {
  id: 'streamEvents',
  errors: ['EVENTS_TRIMMED'],
  summary: 'Streams what happens to jobs in all processes: `ready`, then one event for each, named by its kind',
  query: {
    jobs: texts('the names of jobs'),
    queues: texts('the names of queues'),
    kinds: listOf(JOB_EVENT_KINDS, 'the kinds of events'),
    after: text('the id of an event: the stream begins behind it'),
  },
  headers: { 'last-event-id': 'the same as `after`, which it overrides' },
  answers: {
    200: {
      description:
        'The data of each event is a JSON object with its members; that of `trouble`, the last one, a Problem',
      content: { 'text/event-stream': { type: 'string' } },
    },
  },
  async run(call) {
    const { hq, server, request, query } = call
    const { jobs, queues, kinds, after: wanted } = query
    // An id ends with a digest of its event, by which a guess of what the rules hide could be checked.
    const seal = server.redaction.isOn ? await server.seal() : undefined
    const idOf = (position: string) => (seal ? seal.close(position, 'event') : position)
    const seen = request.headers.get('last-event-id') || wanted
    const after = seal && seen !== undefined ? seal.open(seen, 'event') : seen
    const ending = new AbortController()
    const begin = () => {
      if (seen !== undefined && !readPositions(after ?? '')) throw unknownId(seen)
      return hq.events({ ...given({ jobs, queues, kinds, after }), signal: ending.signal })
    }
    const leave = server.streams.enter()
    const stream = eventStream<Update>({
      unreadSeconds: server.limits.unreadSeconds,
      isOver: endOfCaller(watchCaller(call)),
      onEnd: leave,
      subscribe(offer) {
        void follow(begin, offer, (err) => hq.log.error({ err }, 'a stream of events failed'))
        return () => ending.abort()
      },
      format: (update) => formatted(update, server.redaction, idOf),
    })
    return new Response(stream, { headers: STREAM_HEADERS })
  },
})

/** Offers all updates, and waits until the client has room for each, so that the stream never drops an event. */
async function follow(
  begin: () => JobEvents,
  offer: (update: Update) => void,
  onError: (thrown: unknown) => void,
): Promise<void> {
  try {
    const events = begin()
    const position = await events.position()
    await new Promise<void>((sent) => offer({ position, sent }))
    for await (const event of events) {
      const position = await events.position()
      await new Promise<void>((sent) => offer({ event, position, sent }))
    }
    offer({ isClosed: true })
  } catch (thrown) {
    if (!codeOf(thrown)) onError(thrown)
    offer({ trouble: thrown })
  }
}

/** Returns the text of an update. `idOf` returns the id that clients get. */
function formatted(
  update: Update,
  redaction: Redaction,
  idOf: (position: string) => string,
): { text: string; isLast: boolean } {
  if ('isClosed' in update) return { text: '', isLast: true }
  // Without its id, a browser that reconnects begins with new events.
  if ('trouble' in update) {
    const data = stringifyJson(troubleOf(update.trouble, idOf))
    return { text: `id:\nevent: trouble\ndata: ${data}\n\n`, isLast: true }
  }
  update.sent()
  if (!('event' in update)) {
    return { text: `id: ${idOf(update.position)}\nevent: ready\ndata: null\n\n`, isLast: false }
  }
  const event = { ...shown(redaction, update.event), id: idOf(update.position) }
  return { text: `id: ${event.id}\nevent: ${event.kind}\ndata: ${stringifyJson(event)}\n\n`, isLast: false }
}

/**
 * Returns the error for an id that this server did not write, for example from before `redact` was switched on. It ends the
 * stream; after a 400 a browser would not reconnect.
 */
function unknownId(id: string): HighkiqError {
  return new HighkiqError(
    'EVENTS_TRIMMED',
    `this server knows no event with the id ${JSON.stringify(id.slice(0, 100))}: leave it out to begin with new events, and read from the store what has become of your jobs`,
  )
}

/** Returns the error that ends a stream. Its position is one that clients get. */
function troubleOf(thrown: unknown, idOf: (position: string) => string): ErrorBody {
  const body = errorBody(thrown)
  const after = body.details?.after
  if (typeof after !== 'string') return body
  return { ...body, message: body.message.replaceAll(after, idOf(after)), details: { after: idOf(after) } }
}

/** Returns the redacted event. Its error has the name that it has in a job. */
function shown(redaction: Redaction, event: JobEvent): JobEvent {
  if (!redaction.isOn) return event
  const { error, progress } = event
  return {
    ...event,
    ...given({ progress: progress && redaction.value(progress) }),
    ...(error ? { error: { class: error.class, message: redaction.message(error.message) } } : {}),
  }
}
