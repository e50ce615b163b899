/** Records the starts and the progress of running attempts while the store has a recording of events. */

import type { RecordEffect } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'
import { progressToRecord, startToRecord } from './attempt-events.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { SettlementBuffer } from './settlement-buffer.ts'

/** An event of a running attempt waits for at most this many milliseconds until a call carries it. */
const DELAY_MS = 20

export class AttemptRecorder {
  readonly #engine: Engine
  readonly #buffer: SettlementBuffer
  readonly #running: RunningAttempts
  readonly #wake: () => void
  #timer: NodeJS.Timeout | undefined

  /** `wake` starts a call. */
  constructor(engine: Engine, buffer: SettlementBuffer, running: RunningAttempts, wake: () => void) {
    this.#engine = engine
    this.#buffer = buffer
    this.#running = running
    this.#wake = wake
  }

  /** Records the start of an attempt while the store has a recording. Asks the store first when that is unknown. */
  started(attempt: Attempt): void {
    const { recording } = this.#engine
    // If the attempt ends soon, its end records its start.
    if (recording.isOn) this.#plan()
    else {
      void recording
        .refreshed()
        ?.then(() => recording.isOn && this.#running.isCurrent(attempt) && this.started(attempt))
    }
  }

  recordProgress(): void {
    for (const attempt of this.#running.all) {
      const progress = progressToRecord(attempt, this.#engine.now())
      if (!progress) continue
      this.#add(startToRecord(attempt))
      this.#add(progress)
    }
  }

  #add(event: RecordEffect | undefined): void {
    if (!event) return
    this.#buffer.addRecord(event)
    this.#plan()
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => {
      for (const attempt of this.#running.all) if (attempt.began > 0) this.#add(startToRecord(attempt))
      this.#timer = undefined
      this.#buffer.recordsDue()
      this.#wake()
    }, DELAY_MS)
  }
}
