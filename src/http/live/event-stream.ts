/** One client's stream of server-sent events. */

/** The longest time between two comments, which show whether the client still reads. */
const BEAT_MS = 15_000

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
  /** Called when the stream has ended for any reason. */
  onEnd(): void
}

/**
 * Keeps only the newest update until the client reads it. So a slow client costs no more memory than a fast one, and its
 * stream is closed after a while.
 */
export class EventStream<Update> {
  readonly body: ReadableStream<Uint8Array>
  readonly #options: EventStreamOptions<Update>
  readonly #beatMs: number
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #pending: { update: Update } | undefined
  #unread = 0
  #timer: NodeJS.Timeout | undefined
  #stop = () => {}
  #isOver = false

  constructor(options: EventStreamOptions<Update>) {
    this.#options = options
    this.#beatMs = Math.min(BEAT_MS, options.unreadSeconds * 250)
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller
        // Sends data right after the headers, so that the client sees the stream open at once.
        this.#send('retry: 2000\n\n')
        this.#timer = setInterval(() => this.#beat(), this.#beatMs).unref()
        const stop = options.subscribe((update) => this.#offer(update))
        if (this.#isOver) stop()
        else this.#stop = stop
      },
      pull: () => this.#flush(),
      cancel: () => this.#end(),
    })
  }

  #offer(update: Update): void {
    this.#pending = { update }
    this.#flush()
  }

  #flush(): void {
    if (!this.#pending || this.#isOver || (this.#controller.desiredSize ?? 0) <= 0) return
    const { text, isLast } = this.#options.format(this.#pending.update)
    this.#pending = undefined
    if (text !== '') this.#send(text)
    if (!isLast) return
    this.#end()
    this.#controller.close()
  }

  #beat(): void {
    if ((this.#controller.desiredSize ?? 0) > 0) {
      this.#unread = 0
      this.#send(': still here\n\n')
    } else if (++this.#unread * this.#beatMs >= this.#options.unreadSeconds * 1000) {
      this.#end()
      this.#controller.error(new Error('the client does not read'))
    }
  }

  #send(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text))
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#timer)
    this.#stop()
    this.#options.onEnd()
  }
}
