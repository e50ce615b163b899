/** Records the starts and the progress of running attempts while the store has a recording of events. */

import type { RecordEffect } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'
import { progressToRecord, startToRecord } from './attempt-events.ts'
import type { SettlementBuffer } from './settlement-buffer.ts'

/** An event of an attempt that goes on waits at most so long for a call to go with. */
const DELAY_MS = 20

export class AttemptRecorder {
  readonly #engine: Engine
  readonly #buffer: SettlementBuffer
  readonly #running: ReadonlyMap<string, Attempt>
  readonly #wake: () => void
  /** Attempts whose start is not recorded yet: if they end soon, their end records it. */
  readonly #starts = new Set<Attempt>()
  #timer: NodeJS.Timeout | undefined

  /** `running` has the attempts of now, by ticket. `wake` starts a call. */
  constructor(engine: Engine, buffer: SettlementBuffer, running: ReadonlyMap<string, Attempt>, wake: () => void) {
    this.#engine = engine
    this.#buffer = buffer
    this.#running = running
    this.#wake = wake
  }

  /** `now` is on the monotonic clock. */
  started(attempt: Attempt, now?: number): void {
    const { recording } = this.#engine
    if (!recording.mayBeOn(now)) return
    if (recording.isOn) {
      this.#starts.add(attempt)
      this.#plan()
    } else {
      void recording.refreshed()?.then(() => recording.isOn && this.#isRunning(attempt) && this.started(attempt))
    }
  }

  ended(attempt: Attempt): void {
    this.#starts.delete(attempt)
    if (this.#engine.recording.mayBeOn()) attempt.endedAt = this.#engine.now()
  }

  recordProgress(): void {
    for (const attempt of this.#running.values()) {
      const progress = progressToRecord(attempt, this.#engine.now())
      if (!progress) continue
      this.#add(startToRecord(attempt))
      this.#add(progress)
    }
  }

  #isRunning(attempt: Attempt): boolean {
    return this.#running.get(attempt.fetched.ticket) === attempt
  }

  #add(event: RecordEffect | undefined): void {
    if (!event) return
    this.#buffer.addRecord(event)
    this.#plan()
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => {
      for (const attempt of this.#starts) if (this.#isRunning(attempt)) this.#add(startToRecord(attempt))
      this.#starts.clear()
      this.#timer = undefined
      this.#buffer.recordsDue()
      this.#wake()
    }, DELAY_MS)
  }
}
