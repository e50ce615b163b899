/** One client's stream of server-sent events. */

/** The longest time between two comments, which show whether the client still reads. */
const BEAT_MS = 15_000
/** How often a stream asks whether its client may read on. */
const CHECK_MS = 1000

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // Stops proxies from buffering the stream.
  'x-accel-buffering': 'no',
  'cache-control': 'no-store, no-transform',
}

export interface EventStreamOptions<Update> {
  /** The seconds for which a client may leave data unread before its stream is closed. */
  unreadSeconds: number
  /** Starts to offer updates. @returns a function that stops it */
  subscribe(offer: (update: Update) => void): () => void
  /** Returns the events for an update; '' when the client knows it already. */
  format(update: Update): { text: string; isLast: boolean }
  /** Whether the client may not read on: its link or its login has ended. It is asked every second, and before each text. */
  isOver?(): boolean
  /** Called when the stream has ended for any reason. */
  onEnd(): void
}

/**
 * Returns the body of a stream. It keeps only the newest update until the client reads it. So a slow client costs no more
 * memory than a fast one, and its stream is closed after a while.
 */
export function eventStream<Update>(options: EventStreamOptions<Update>): ReadableStream<Uint8Array> {
  const { unreadSeconds, subscribe, format, isOver = () => false, onEnd } = options
  const beatMs = Math.min(BEAT_MS, unreadSeconds * 250)
  let controller: ReadableStreamDefaultController<Uint8Array>
  let pending: { update: Update } | undefined
  let unread = 0
  let timer: NodeJS.Timeout | undefined
  let checks: NodeJS.Timeout | undefined
  let stop = () => {}
  let hasEnded = false

  const canSend = () => (controller.desiredSize ?? 0) > 0
  const send = (text: string) => controller.enqueue(new TextEncoder().encode(text))
  const end = () => {
    if (hasEnded) return
    hasEnded = true
    clearInterval(timer)
    clearInterval(checks)
    stop()
    onEnd()
  }
  const close = () => {
    end()
    controller.close()
  }
  const flush = () => {
    if (!pending || hasEnded || !canSend()) return
    if (isOver()) return close()
    const { text, isLast } = format(pending.update)
    pending = undefined
    if (text !== '') send(text)
    if (isLast) close()
  }
  const check = () => {
    if (isOver()) close()
  }
  const beat = () => {
    if (canSend()) {
      unread = 0
      send(': still here\n\n')
    } else if (++unread * beatMs >= unreadSeconds * 1000) {
      end()
      controller.error(new Error('the client does not read'))
    }
  }
  return new ReadableStream({
    start(own) {
      controller = own
      // Sends data right after the headers, so that the client sees the stream open at once.
      send('retry: 2000\n\n')
      timer = setInterval(beat, beatMs).unref()
      checks = setInterval(check, CHECK_MS).unref()
      const unsubscribe = subscribe((update) => {
        pending = { update }
        flush()
      })
      if (hasEnded) unsubscribe()
      else stop = unsubscribe
    },
    pull: flush,
    cancel: end,
  })
}
