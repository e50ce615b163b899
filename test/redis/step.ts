/**
 * What happens to one request:
 *
 * - `pass` – nothing; the test hears that it was sent on
 * - `cut-before` – the connection is cut, the server never sees the request
 * - `cut-after-request` – the connection is cut as soon as the request is sent on; the server does what it asks
 * - `cut-before-reply` – the connection is cut when the server has answered; the answer is lost
 * - `hold` – the request is held back, with all behind it, until it is released
 * - `hold-reply` – the server's answer is held back, with all behind it, until it is released
 */
export type Act = 'pass' | 'cut-before' | 'cut-after-request' | 'cut-before-reply' | 'hold' | 'hold-reply'

/** `commandName` is in capitals; `args` is without it. */
export type Match = (commandName: string, args: Buffer[]) => boolean

export interface Request {
  name: string
  args: Buffer[]
}

/** Something that happens to the next request that matches, once. */
export class Step {
  readonly act: Act
  /**
   * Resolves when it has happened: the request was sent on (`pass`), the connection was cut, or the request or its
   * reply is held.
   */
  readonly happened: Promise<Request>
  #tell: (request: Request) => void = () => {}
  readonly #released: Promise<'go' | 'cut'>
  #release: (what: 'go' | 'cut') => void = () => {}

  constructor(act: Act) {
    this.act = act
    this.happened = new Promise((resolve) => {
      this.#tell = resolve
    })
    this.#released = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** Sends the held message on, or does not hold it. */
  release(): void {
    this.#release('go')
  }

  /** Cuts the connection of the held message. */
  cut(): void {
    this.#release('cut')
  }

  /** For the proxy: reports that it has happened. */
  tell(request: Request): void {
    this.#tell(request)
  }

  /** For the proxy: what happens to the held message. */
  get released(): Promise<'go' | 'cut'> {
    return this.#released
  }
}
