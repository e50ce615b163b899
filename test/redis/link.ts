import type { Socket } from 'node:net'
import type { Weather } from './faults.ts'
import { Lane } from './lane.ts'
import { type Message, Reader } from './resp.ts'
import type { Request, Step } from './step.ts'

/** Their answers are pushes, one for each channel, between the replies of other requests. */
const SUBSCRIPTIONS = new Set(['SUBSCRIBE', 'UNSUBSCRIBE', 'PSUBSCRIBE', 'PUNSUBSCRIBE', 'SSUBSCRIBE', 'SUNSUBSCRIBE'])
/** Protocol 2 has no type of its own for pushes. */
const PUSHES = new Set(['message', 'pmessage', 'smessage', ...[...SUBSCRIPTIONS].map((name) => name.toLowerCase())])

/** How a random cut comes: at once, or at the next message. */
export const MANNERS = ['now', 'half-request', 'after-request', 'before-reply', 'half-reply'] as const
export type Manner = (typeof MANNERS)[number]

/**
 * A client's connection and its own one to the server. Knows which reply belongs to which request; only whole messages
 * are sent on, so that a cut has an exact place.
 */
export class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #weather: Weather
  readonly #stepOf: (request: Request) => Step | undefined
  readonly #up: Lane
  readonly #down: Lane
  /** What is sent on and not answered, in order. */
  readonly #expected: { request: Request; step: Step | undefined }[] = []
  #subscribes = false
  #armed: Manner | undefined
  #cut = false

  constructor(client: Socket, server: Socket, weather: Weather, stepOf: (request: Request) => Step | undefined) {
    this.#client = client
    this.#server = server
    this.#weather = weather
    this.#stepOf = stepOf
    this.#up = new Lane(server, weather)
    this.#down = new Lane(client, weather)
    this.#pump(client, this.#up, (message) => this.#request(message))
    this.#pump(server, this.#down, (message) => this.#reply(message))
  }

  /** Cuts it: at once, or at the next message. */
  cut(manner: Manner = 'now'): void {
    if (manner !== 'now') {
      this.#armed ??= manner
      return
    }
    this.#cut = true
    // The end of a connection is seen as an end or as an error.
    if (this.#weather.random() < 0.5) this.#client.resetAndDestroy()
    else this.#client.destroy()
    this.#server.destroy()
  }

  #pump(from: Socket, lane: Lane, pass: (message: Message) => Promise<void>): void {
    const reader = new Reader()
    from.setNoDelay(true)
    from.on('data', (chunk) => {
      lane.packet()
      for (const message of reader.read(chunk)) lane.add(async () => (this.#cut ? undefined : pass(message)))
    })
    // `close` comes after it; what is on its way arrives first.
    from.on('error', () => {})
    from.on('end', () => lane.end())
    from.on('close', () => lane.end())
  }

  async #request(message: Message): Promise<void> {
    const [name = '', ...args] = message.words
    const request = { name: String(name).toUpperCase(), args }
    const step = this.#stepOf(request)

    if (step?.act === 'cut-before') {
      this.cut()
      return step.tell(request)
    }
    if (step?.act === 'hold') {
      step.tell(request)
      if ((await step.released) === 'cut') return this.cut()
    }
    if (this.#take('half-request')) {
      this.#up.half(message.bytes)
      return this.#leave()
    }
    if (SUBSCRIPTIONS.has(request.name)) this.#subscribes = true
    else this.#expected.push({ request, step })
    if (!(await this.#up.write(message.bytes))) return this.cut()
    if (step?.act === 'cut-after-request' || this.#take('after-request')) this.#leave()
    if (step?.act === 'pass' || step?.act === 'cut-after-request') step.tell(request)
  }

  async #reply(message: Message): Promise<void> {
    const expected = this.#isPush(message) ? undefined : this.#expected.shift()
    const { request, step } = expected ?? {}
    if (request && step?.act === 'cut-before-reply') {
      this.cut()
      return step.tell(request)
    }
    if (request && step?.act === 'hold-reply') {
      step.tell(request)
      if ((await step.released) === 'cut') return this.cut()
    }
    if (this.#take('before-reply')) return this.cut()
    if (this.#take('half-reply')) {
      this.#down.half(message.bytes)
      this.#server.destroy()
      this.#cut = true
      return
    }
    if (!(await this.#down.write(message.bytes))) this.cut()
  }

  /** The client's end is cut; the server's is closed in order, so that it reads what was sent. */
  #leave(): void {
    this.#cut = true
    this.#client.destroy()
    this.#server.end()
  }

  #take(manner: Manner): boolean {
    if (this.#armed !== manner) return false
    this.#armed = undefined
    return true
  }

  #isPush({ type, words }: Message): boolean {
    return type === '>' || (this.#subscribes && type === '*' && PUSHES.has(String(words[0])))
  }
}
