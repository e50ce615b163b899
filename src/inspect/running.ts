import type { AppPort } from '../app/port.ts'
import { KIND } from '../job/instance-of.ts'
import { type Payload, readPayload } from '../job/payload.ts'
import type { RunningJob, Store } from '../store/contract.ts'
import { runningInOthers } from './process.ts'
import { JobRecord } from './record.ts'
import { pages } from './walk.ts'

/** A running job as its process showed it last: up to 10 seconds ago, its progress about a second ago. */
export class Running extends JobRecord {
  static override readonly [KIND] = 'running'
  /** The identity of its process. */
  readonly process: string
  /** Identifies the job among the running jobs of its process. */
  readonly thread: string
  readonly startedAt: Date
  /** Its progress, if its handler reports any. */
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

/**
 * `hq.running()`: the jobs that run now, longest first, as their processes showed them last.
 *
 * @example for await (const job of hq.running()) console.log(job.process, job.displayClass, job.startedAt)
 */
export class RunningSet implements AsyncIterable<Running> {
  readonly #app: Pick<AppPort, 'store' | 'now'>

  constructor(app: Pick<AppPort, 'store' | 'now'>) {
    this.#app = app
  }

  /** Resolves with the running job of this jid; null when no process has reported it. */
  async find(jid: string): Promise<Running | null> {
    return (await this.#all()).find((job) => job.jid === jid) ?? null
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Running> {
    yield* (await this.#all()).sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
  }

  async #all(): Promise<Running[]> {
    return (await this.#app.store.workers.running()).map((one) => new Running(one, this.#app.now))
  }
}

const PAGE = 500

/** Returns those of the jobs that our workers have fetched now, or that other programs show as running, by their jids. */
export async function runningAmong(store: Store, jids: ReadonlySet<string>): Promise<Map<string, Payload>> {
  const found = new Map<string, Payload>()
  const add = (texts: readonly { text: string }[]) => {
    for (const { text } of texts) {
      const payload = readPayload(text)
      if (payload && jids.has(payload.jid)) found.set(payload.jid, payload)
    }
  }
  for await (const { items } of pages((after) => store.workers.fetched({ after, limit: PAGE }))) add(items)
  add((await runningInOthers(store)) ?? [])
  return found
}
