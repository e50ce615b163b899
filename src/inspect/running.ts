import type { RunningJob, Store } from '../store/contract.ts'
import { JobRecord } from './record.ts'

/** A job that somebody works on, as its process has shown it at its last beat: up to 10 seconds old. */
export class Running extends JobRecord {
  /** Identity. */
  readonly process: string
  /** Different for each of a process's running jobs. */
  readonly thread: string
  readonly startedAt: Date
  /** How far it has come, if its handler says so. */
  readonly progress: RunningJob['progress']

  constructor(
    { identity, slot, queue, text, startedAt, progress }: RunningJob & { identity: string },
    now: () => number,
  ) {
    super(text, { queue: queue || undefined, now })
    this.process = identity
    this.thread = slot
    this.startedAt = new Date(startedAt)
    this.progress = progress
  }

  override toJSON(): Record<string, unknown> {
    const { process, thread, startedAt, progress } = this
    return { process, thread, startedAt, progress, ...super.toJSON() }
  }
}

/** What has run longest comes first. */
export async function runningOf(store: Store, now: () => number): Promise<Running[]> {
  const running = (await store.running()).map((one) => new Running(one, now))
  return running.sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
}
