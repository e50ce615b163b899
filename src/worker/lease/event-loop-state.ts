/**
 * The state of the event loop in shared memory: the main thread writes that it turns and which jobs run, and the lease
 * thread reads it. It is written for every job, so it must cost next to nothing: plain stores, no clock, no allocation. The
 * lease thread reads it only after it has seen no change for a second or more.
 */

/** A running job. `timeout` is in seconds, 0 without one. */
export interface RunningJob {
  jid: string
  class: string
  timeout: number
}

/** Offsets in the head, in 32-bit words. */
const ACTIVITY = 0
/** The record of the job whose handler is on the stack; -1 while there is none. */
const CURRENT = 1
const COUNT = 2
const HEAD_BYTES = 16
/** Offsets in a record, in bytes. Records are aligned to 8 bytes, because the timeout is a double. */
const RUNS = 0
const JID_LENGTH = 4
const CLASS_LENGTH = 8
const TIMEOUT = 16
const JID = 24
const CLASS = 88
const RECORD_BYTES = 216
/** Jobs beyond this number share the last record: no log line would name them. */
const MAX_RECORDS = 1000

/** The side of the main thread. */
export class EventLoopState {
  readonly memory: SharedArrayBuffer
  readonly #cells: Int32Array
  readonly #doubles: Float64Array
  readonly #jids: Uint8Array[] = []
  readonly #classes: Uint8Array[] = []
  /** The class that each record holds: most jobs have the class of the job before. */
  readonly #written: string[] = []
  readonly #free: number[] = []
  readonly #encoder = new TextEncoder()
  #activity = 0
  #count = 0

  /** `concurrency` is the number of jobs that run at the same time. A worker may change it, so it makes all records. */
  constructor(concurrency = MAX_RECORDS) {
    const records = Math.min(concurrency, MAX_RECORDS) + 1
    this.memory = new SharedArrayBuffer(HEAD_BYTES + records * RECORD_BYTES)
    this.#cells = new Int32Array(this.memory)
    this.#doubles = new Float64Array(this.memory)
    this.#cells[CURRENT] = -1
    for (let record = 0; record < records; record++) {
      const at = HEAD_BYTES + record * RECORD_BYTES
      this.#jids.push(new Uint8Array(this.memory, at + JID, CLASS - JID))
      this.#classes.push(new Uint8Array(this.memory, at + CLASS, RECORD_BYTES - CLASS))
      this.#written.push('')
    }
    for (let record = records - 2; record >= 0; record--) this.#free.push(record)
  }

  /** Records that the event loop turns. */
  beat(): void {
    this.#cells[ACTIVITY] = ++this.#activity
  }

  began(jid: unknown, name: string, timeout = 0): number {
    const record = this.#free.pop() ?? this.#jids.length - 1
    const at = HEAD_BYTES + record * RECORD_BYTES
    const cells = this.#cells
    // A job of another program may have no id, or one that is not a string.
    cells[(at + JID_LENGTH) >> 2] = this.#write(typeof jid === 'string' ? jid : String(jid), this.#jids[record])
    if (this.#written[record] !== name) {
      cells[(at + CLASS_LENGTH) >> 2] = this.#write(name, this.#classes[record])
      this.#written[record] = name
    }
    this.#doubles[(at + TIMEOUT) >> 3] = timeout
    cells[(at + RUNS) >> 2] = 1
    cells[COUNT] = ++this.#count
    cells[CURRENT] = record
    this.beat()
    return record
  }

  yielded(): void {
    this.#cells[CURRENT] = -1
    this.beat()
  }

  ended(record: number): void {
    this.#cells[(HEAD_BYTES + record * RECORD_BYTES + RUNS) >> 2] = 0
    this.#cells[COUNT] = --this.#count
    if (record < this.#jids.length - 1) this.#free.push(record)
    this.beat()
  }

  /** Writes a text and returns its length in bytes; negative when the text was cut. */
  #write(text: string, to: Uint8Array | undefined): number {
    const { read, written } = this.#encoder.encodeInto(text, to as Uint8Array)
    return read < text.length ? -written : written
  }
}

/** The side of the lease thread. What it reads is valid only while `activity` does not change. */
export class EventLoopReader {
  readonly #memory: SharedArrayBuffer
  readonly #cells: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory
    this.#cells = new Int32Array(memory)
  }

  /** Changes whenever the event loop has turned, or a job started, yielded or ended. */
  get activity(): number {
    return this.#word(ACTIVITY)
  }

  /** The job whose handler is on the stack; undefined when there is none, and any code may block. */
  get current(): RunningJob | undefined {
    const record = this.#word(CURRENT)
    return record < 0 ? undefined : this.#job(HEAD_BYTES + record * RECORD_BYTES)
  }

  /** How many jobs run. */
  get count(): number {
    return this.#word(COUNT)
  }

  /** The running jobs that have a record of their own, nearly always all. */
  get running(): RunningJob[] {
    const jobs: RunningJob[] = []
    for (let at = HEAD_BYTES; at < this.#memory.byteLength; at += RECORD_BYTES) {
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
    return Atomics.load(this.#cells, index)
  }
}
