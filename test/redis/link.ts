import type { Socket } from 'node:net'
import { Direction } from './direction.ts'
import type { Weather } from './faults.ts'
import { type Message, Reader } from './resp.ts'
import type { Request, Step } from './step.ts'

/** Commands that are answered by pushes, one for each channel, between the replies of other requests. */
const SUBSCRIPTIONS = new Set(['SUBSCRIBE', 'UNSUBSCRIBE', 'PSUBSCRIBE', 'PUNSUBSCRIBE', 'SSUBSCRIBE', 'SUNSUBSCRIBE'])
/** Protocol 2 has no type of its own for pushes. */
const PUSHES = new Set(['message', 'pmessage', 'smessage', ...[...SUBSCRIPTIONS].map((name) => name.toLowerCase())])

/** The kinds of random cuts: at once, or at the next message. */
export const MANNERS = ['now', 'half-request', 'after-request', 'before-reply', 'half-reply'] as const
export type Manner = (typeof MANNERS)[number]

/**
 * A client's connection and its counterpart to the server. It matches replies with requests and sends only whole
 * messages on, so that a cut has an exact position.
 */
export class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #weather: Weather
  readonly #stepOf: (request: Request) => Step | undefined
  readonly #up: Direction
  readonly #down: Direction
  /** Requests that were sent on and have no reply yet, in order. */
  readonly #expected: { request: Request; step: Step | undefined }[] = []
  #subscribes = false
  #armed: Manner | undefined
  #cut = false

  constructor(client: Socket, server: Socket, weather: Weather, stepOf: (request: Request) => Step | undefined) {
    this.#client = client
    this.#server = server
    this.#weather = weather
    this.#stepOf = stepOf
    this.#up = new Direction(server, weather)
    this.#down = new Direction(client, weather)
    this.#pump(client, this.#up, (message) => this.#request(message))
    this.#pump(server, this.#down, (message) => this.#reply(message))
  }

  /** Cuts the connection at once, or at the next message. */
  cut(manner: Manner = 'now'): void {
    if (manner !== 'now') {
      this.#armed ??= manner
      return
    }
    this.#cut = true
    // The end of a connection shows as an end or as an error.
    if (this.#weather.random() < 0.5) this.#client.resetAndDestroy()
    else this.#client.destroy()
    this.#server.destroy()
  }

  #pump(from: Socket, direction: Direction, pass: (message: Message) => Promise<void>): void {
    const reader = new Reader()
    from.setNoDelay(true)
    from.on('data', (chunk) => {
      direction.packet()
      for (const message of reader.read(chunk)) direction.add(async () => (this.#cut ? undefined : pass(message)))
    })
    // `close` follows; data on its way arrives first.
    from.on('error', () => {})
    from.on('end', () => direction.end())
    from.on('close', () => direction.end())
  }

  async #request(message: Message): Promise<void> {
    const [name = '', ...args] = message.parts
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
    if (this.#isNext('half-request')) {
      this.#up.half(message.bytes)
      return this.#leave()
    }
    if (SUBSCRIPTIONS.has(request.name)) this.#subscribes = true
    else this.#expected.push({ request, step })
    if (!(await this.#up.write(message.bytes))) return this.cut()
    if (step?.act === 'cut-after-request' || this.#isNext('after-request')) this.#leave()
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
    if (this.#isNext('before-reply')) return this.cut()
    if (this.#isNext('half-reply')) {
      this.#down.half(message.bytes)
      this.#server.destroy()
      this.#cut = true
      return
    }
    if (!(await this.#down.write(message.bytes))) this.cut()
  }

  /** Cuts the client's side. The server's side closes in order, so that the server reads what was sent. */
  #leave(): void {
    this.#cut = true
    this.#client.destroy()
    this.#server.end()
  }

  #isNext(manner: Manner): boolean {
    if (this.#armed !== manner) return false
    this.#armed = undefined
    return true
  }

  #isPush({ type, parts }: Message): boolean {
    return type === '>' || (this.#subscribes && type === '*' && PUSHES.has(String(parts[0])))
  }
}
