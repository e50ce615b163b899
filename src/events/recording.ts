/** Whether the store has a recording of events, as this process knows. */

import type { Store } from '../store/contract.ts'

/** An answer of the store holds for this long. A new recording is confirmed after twice this time. */
export const FRESH_MS = 1000
/** Pushes and settlements wait at most this long for an answer. */
const ANSWER_MS = 1000
/** A process that keeps a recording extends it this often. */
export const EXTEND_MS = 60_000

export class Recording {
  readonly #store: Store
  readonly #now: () => number
  /** How many events this process makes the store keep; undefined: it leaves that to readers. */
  #keep: number | undefined
  #isOn = false
  /** On the monotonic clock. */
  #freshUntil = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined
  /** Ends with the answer, or without it after ANSWER_MS. */
  #waiting: Promise<void> | undefined

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Makes the store record events from now on, as long as this process pushes or runs jobs. */
  keep(events: number): void {
    this.#keep = events
  }

  /** Whether the store had a recording when it was last asked. */
  get isOn(): boolean {
    return this.#isOn
  }

  /**
   * Returns false if the store has answered within the last second that it has no recording. Else pushes and settlements
   * carry their events, and the store decides whether it records them.
   */
  mayBeOn(now = performance.now()): boolean {
    return this.#isOn || now >= this.#freshUntil
  }

  /**
   * Asks the store when its last answer is too old, and returns a promise if the caller must wait for the answer. It never
   * rejects, and resolves soon also when the store is away.
   */
  refreshed(): Promise<void> | undefined {
    if (performance.now() < this.#freshUntil) return undefined
    const asking = this.ask()
    return this.#isOn ? undefined : asking
  }

  ask(): Promise<void> {
    // All pushes of one turn wait for the same promise, and so are still one call.
    this.#waiting ??= new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting = undefined
        resolve()
      }
      const timer = setTimeout(done, ANSWER_MS)
      this.#asking ??= this.#ask()
        .catch(() => {})
        .finally(() => {
          this.#asking = undefined
        })
      this.#asking.then(done)
    })
    return this.#waiting
  }

  async #ask(): Promise<void> {
    const { events } = this.#store
    const asked = performance.now()
    if (this.#keep === undefined) {
      this.#isOn = await events.isRecording(this.#now())
      this.#freshUntil = asked + FRESH_MS
    } else {
      await events.record(this.#keep, this.#now())
      this.#isOn = true
      this.#freshUntil = asked + EXTEND_MS
    }
  }
}

const recordings = new WeakMap<Store, Recording>()

/** Returns what this process knows of the recording of a store. */
export function recordingOf(store: Store, now: () => number): Recording {
  let recording = recordings.get(store)
  if (!recording) {
    recording = new Recording(store, now)
    recordings.set(store, recording)
  }
  return recording
}
