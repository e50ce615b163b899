import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Weather } from './faults.ts'

/** One direction of a connection: keeps messages in order and delays them. */
export class Direction {
  readonly #to: Socket
  readonly #weather: Weather
  readonly #queue: (() => Promise<void>)[] = []
  #moves = false
  #arrives = 0

  constructor(to: Socket, weather: Weather) {
    this.#to = to
    this.#weather = weather
  }

  /** Begins a packet: work that is added after this waits for its arrival. */
  packet(): void {
    const { faults, random } = this.#weather
    const held = random() < faults.stall ? 1000 + 2000 * random() : faults.delay * random()
    this.#arrives = Math.max(this.#arrives, performance.now() + held)
    const arrives = this.#arrives
    this.add(async () => {
      const left = arrives - performance.now()
      if (left > 0) await sleep(left)
    })
  }

  /** Adds work that begins when all earlier work has ended. */
  add(work: () => Promise<void>): void {
    this.#queue.push(work)
    if (!this.#moves) void this.#move()
  }

  /** Writes a message, whole or in pieces. Returns false when the connection was cut between two pieces. */
  async write(bytes: Buffer): Promise<boolean> {
    const { faults, random } = this.#weather
    if (random() >= faults.halve) {
      this.#to.write(bytes)
      return true
    }
    const pieces = 2 + Math.floor(4 * random())
    const severed = random() < faults.sever ? 1 + Math.floor((pieces - 1) * random()) : pieces
    const ends = Array.from({ length: pieces - 1 }, () => Math.floor(random() * bytes.length)).sort((a, b) => a - b)
    let begin = 0
    for (const end of [...ends, bytes.length].slice(0, severed)) {
      if (end > begin) this.#to.write(bytes.subarray(begin, end))
      begin = end
      await sleep(3 * random())
    }
    return severed === pieces
  }

  /** Writes the first half, and then closes the connection. */
  half(bytes: Buffer): void {
    this.#to.end(bytes.subarray(0, Math.ceil(bytes.length / 2)))
  }

  /** Closes the connection after all added work. */
  end(): void {
    this.add(async () => {
      this.#to.end()
    })
  }

  async #move(): Promise<void> {
    this.#moves = true
    for (let work = this.#queue.shift(); work; work = this.#queue.shift()) await work()
    this.#moves = false
  }
}
