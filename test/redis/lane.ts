import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Weather } from './faults.ts'

/** One direction of a connection: what goes in comes out in order, some time. */
export class Lane {
  readonly #to: Socket
  readonly #weather: Weather
  readonly #queue: (() => Promise<void>)[] = []
  #moves = false
  #arrives = 0

  constructor(to: Socket, weather: Weather) {
    this.#to = to
    this.#weather = weather
  }

  /** A packet has come: what is added after this arrives when it does. */
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

  /** Adds something to do when all before it is done. */
  add(work: () => Promise<void>): void {
    this.#queue.push(work)
    if (!this.#moves) void this.#move()
  }

  /** Writes a message, whole or in pieces; answers false when it was cut off between them. */
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

  /** Writes the first half, and the end of the connection after it. */
  half(bytes: Buffer): void {
    this.#to.end(bytes.subarray(0, Math.ceil(bytes.length / 2)))
  }

  /** No more comes after what was added. */
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
