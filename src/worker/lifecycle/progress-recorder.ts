/** Records the progress that running jobs report, as events, while a process reads events. */

import { Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Capsules } from './capsules.ts'

/** A job records at most one event of its progress in this time, in milliseconds. */
const EVERY_MS = 500

export class ProgressRecorder extends Periodic {
  readonly #engine: Engine
  readonly #capsules: Capsules

  constructor(engine: Engine, capsules: Capsules) {
    super(engine.report, { during: 'recording progress', everyMs: EVERY_MS, first: 'later', runsWhenQuiet: true })
    this.#engine = engine
    this.#capsules = capsules
  }

  protected override async run(): Promise<void> {
    const { recording } = this.#engine
    if (!this.#capsules.attempts.some(({ ctx, recordedProgress }) => ctx.progressed !== recordedProgress)) return
    await recording.refreshed()
    if (recording.isOn) this.#capsules.recordProgress()
  }
}
