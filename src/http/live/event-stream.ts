/** One client's stream of server-sent events. */

/** At most; beats are what tells that a client does not read. */
const BEAT_MS = 15_000

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // Proxies would hold back what is to be seen at once.
  'x-accel-buffering': 'no',
  'cache-control': 'no-store, no-transform',
}

export interface EventSourceOptions<News> {
  /** For which the client may leave unread what it is told. */
  unreadSeconds: number
  /** Begins offering news. @returns what ends that */
  subscribe(offer: (news: News) => void): () => void
  /** Events of a piece of news; '': the client knows it. */
  format(news: News): { text: string; isLast: boolean }
  /** It is over, however it came to that. */
  onEnd(): void
}

/**
 * It keeps the newest alone until that is asked for, so a client that does not read costs no more than one that does, and
 * is sent away after a while.
 */
export class EventStream<News> {
  readonly body: ReadableStream<Uint8Array>
  readonly #about: EventSourceOptions<News>
  readonly #beatMs: number
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #pending: { news: News } | undefined
  #unread = 0
  #timer: NodeJS.Timeout | undefined
  #stop = () => {}
  #isOver = false

  constructor(about: EventSourceOptions<News>) {
    this.#about = about
    this.#beatMs = Math.min(BEAT_MS, about.unreadSeconds * 250)
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller
        // Headers and something behind them, so that a client knows at once that it is heard.
        this.#send('retry: 2000\n\n')
        this.#timer = setInterval(() => this.#beat(), this.#beatMs).unref()
        const stop = about.subscribe((news) => this.#offer(news))
        if (this.#isOver) stop()
        else this.#stop = stop
      },
      pull: () => this.#flush(),
      cancel: () => this.#end(),
    })
  }

  #offer(news: News): void {
    this.#pending = { news }
    this.#flush()
  }

  #flush(): void {
    if (!this.#pending || this.#isOver || (this.#controller.desiredSize ?? 0) <= 0) return
    const { text, isLast } = this.#about.format(this.#pending.news)
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
    } else if (++this.#unread * this.#beatMs >= this.#about.unreadSeconds * 1000) {
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
    this.#about.onEnd()
  }
}
