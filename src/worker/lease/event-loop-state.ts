/**
 * What a worker's main thread shows of itself in shared memory, so that its lease thread can see whether the event loop
 * turns, and which jobs run when it does not. Written for every job, so it must cost next to nothing: plain stores, no
 * clock, no allocation. Nobody reads it but a thread that has seen nothing change for a second or more.
 */

/** A job that runs. `timeout` is in seconds, 0 without one. */
export interface RunningJob {
  jid: string
  class: string
  timeout: number
}

/** Of the head, in 32-bit words. */
const LIFE = 0
/** The place of the job whose handler is on the stack; -1 while none is. */
const CURRENT = 1
const COUNT = 2
const HEAD_BYTES = 16
/** Of a place, in bytes; a place is a multiple of 8, for the timeout is a double. */
const RUNS = 0
const JID_LENGTH = 4
const CLASS_LENGTH = 8
const TIMEOUT = 16
const JID = 24
const CLASS = 88
const PLACE_BYTES = 216
/** More jobs than this at a time share the last place: memory is not spent on names that nobody would read. */
const MOST_PLACES = 1000

/** The main thread's side. */
export class EventLoopState {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #doubles: Float64Array
  readonly #jids: Uint8Array[] = []
  readonly #classes: Uint8Array[] = []
  /** The class that is written in each place: most jobs are of the class that was there before. */
  readonly #written: string[] = []
  readonly #free: number[] = []
  readonly #encoder = new TextEncoder()
  #life = 0
  #count = 0

  /** For so many jobs at the same time. */
  constructor(concurrency: number) {
    const places = Math.min(concurrency, MOST_PLACES) + 1
    this.memory = new SharedArrayBuffer(HEAD_BYTES + places * PLACE_BYTES)
    this.#words = new Int32Array(this.memory)
    this.#doubles = new Float64Array(this.memory)
    this.#words[CURRENT] = -1
    for (let place = 0; place < places; place++) {
      const at = HEAD_BYTES + place * PLACE_BYTES
      this.#jids.push(new Uint8Array(this.memory, at + JID, CLASS - JID))
      this.#classes.push(new Uint8Array(this.memory, at + CLASS, PLACE_BYTES - CLASS))
      this.#written.push('')
    }
    for (let place = places - 2; place >= 0; place--) this.#free.push(place)
  }

  /** The event loop turns. */
  beat(): void {
    this.#words[LIFE] = ++this.#life
  }

  /** A handler is called now. Answers the place that `ended` wants back. */
  began(jid: unknown, name: string, timeout = 0): number {
    const place = this.#free.pop() ?? this.#jids.length - 1
    const at = HEAD_BYTES + place * PLACE_BYTES
    const words = this.#words
    // Other programs' jobs may have no id, or one that is no text.
    words[(at + JID_LENGTH) >> 2] = this.#write(typeof jid === 'string' ? jid : String(jid), this.#jids[place])
    if (this.#written[place] !== name) {
      words[(at + CLASS_LENGTH) >> 2] = this.#write(name, this.#classes[place])
      this.#written[place] = name
    }
    this.#doubles[(at + TIMEOUT) >> 3] = timeout
    words[(at + RUNS) >> 2] = 1
    words[COUNT] = ++this.#count
    words[CURRENT] = place
    this.beat()
    return place
  }

  /** The handler has answered, with a promise or at once: what blocks from now on may be anybody. */
  yielded(): void {
    this.#words[CURRENT] = -1
    this.beat()
  }

  ended(place: number): void {
    this.#words[(HEAD_BYTES + place * PLACE_BYTES + RUNS) >> 2] = 0
    this.#words[COUNT] = --this.#count
    if (place < this.#jids.length - 1) this.#free.push(place)
    this.beat()
  }

  /** The length that is written; below 0 when the text was cut. */
  #write(text: string, to: Uint8Array | undefined): number {
    const { read, written } = this.#encoder.encodeInto(text, to as Uint8Array)
    return read < text.length ? -written : written
  }
}

/** The thread's side. What it reads is sound only while `life` does not change. */
export class EventLoopReader {
  readonly #memory: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory
    this.#words = new Int32Array(memory)
  }

  /** Another number whenever the event loop has turned, or a job began, paused or ended. */
  get life(): number {
    return this.#word(LIFE)
  }

  /** The job whose handler is on the stack; undefined when none is, and who blocks is not known. */
  get current(): RunningJob | undefined {
    const place = this.#word(CURRENT)
    return place < 0 ? undefined : this.#job(HEAD_BYTES + place * PLACE_BYTES)
  }

  /** How many jobs run. */
  get count(): number {
    return this.#word(COUNT)
  }

  /** Those of them that have a place, which are nearly always all. */
  get running(): RunningJob[] {
    const jobs: RunningJob[] = []
    for (let at = HEAD_BYTES; at < this.#memory.byteLength; at += PLACE_BYTES) {
      if (this.#word((at + RUNS) >> 2) === 1) jobs.push(this.#job(at))
    }
    return jobs
  }

  #job(at: number): RunningJob {
    return {
      jid: this.#text(at + JID, this.#word((at + JID_LENGTH) >> 2)),
      class: this.#text(at + CLASS, this.#word((at + CLASS_LENGTH) >> 2)),
      timeout: new Float64Array(this.#memory, at + TIMEOUT, 1)[0] ?? 0,
    }
  }

  #text(at: number, length: number): string {
    const text = Buffer.from(this.#memory, at, Math.abs(length)).toString()
    return length < 0 ? `${text}…` : text
  }

  #word(index: number): number {
    return Atomics.load(this.#words, index)
  }
}
